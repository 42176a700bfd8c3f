// Package webui serves the page that shows the fleet: every card a cell, with what
// is held and promised on it, and who stands there.
//
// The page is static and asks the query API like everybody else, from its own
// origin and nowhere else. Nothing is put into the page as markup: names of tasks
// and containers are hostile input, and the policy allows no inline script.
package webui

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed static
var static embed.FS

// policy lets the page load its own files and ask its own origin, nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at /ui/, sends / to it, and hands everything else to the
// API.
func Handler(api http.Handler) http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	page := http.StripPrefix("/ui/", http.FileServerFS(files))
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ui/", http.StatusFound) })
	mux.HandleFunc("GET /ui/", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		page.ServeHTTP(w, r)
	})
	return mux
}
