// Package nowhere is a sample that breaks the rules.
package nowhere
