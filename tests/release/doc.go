// Package release tests what is released: that the same input gives the same bytes,
// that every module that is linked has its licence listed, and that a release's notes
// and bill of materials are made.
package release
