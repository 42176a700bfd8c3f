// Package config reads the host agent's settings: defaults, then a YAML file, then
// the environment, then flags; the later one wins. Unknown keys and values out of
// range are refused with the place where they stand, so that a typing error never
// means "default". The zero file is a sound configuration but for the endpoint.
package config
