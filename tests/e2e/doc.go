// Package e2e runs the real thing: the functions' bootstrap binaries under Lambda's
// runtime interface emulator, real SDK clients over real HTTP, and the command
// against a live local mode.
package e2e
