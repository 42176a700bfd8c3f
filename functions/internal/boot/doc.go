// Package boot starts a function: it reads the configuration once, validates it,
// and builds the clients that every function shares. What depends on the time is
// never computed here, since a warm process keeps it.
package boot
