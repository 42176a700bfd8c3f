// Package httpapi is the HTTP face of the ledger: routes, documents, problems.
//
// It is an http.Handler and nothing else, so the same code answers behind API
// Gateway, in the local mode and in tests. infra/openapi.yaml is its contract; a
// test holds requests and answers against it. Lists are paged by opaque cursors,
// errors are problem documents (RFC 9457) with a stable reason token, and every
// answer carries an ETag, so that a page which polls costs little.
package httpapi
