package release

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// phrases tell a licence by words that only it has.
var phrases = map[string]string{
	"Apache-2.0":   "Apache License",
	"MIT":          "Permission is hereby granted, free of charge",
	"BSD-3-Clause": "Redistribution and use in source and binary forms",
	"MPL-2.0":      "Mozilla Public License",
}

// Every module that is linked into something we release is in docs/licences.md under
// the licence that it ships, and nothing else is.
func TestLicencesOfAllThatIsLinkedAreListed(t *testing.T) {
	linked := map[string]string{} // module path → directory
	out := run(t, root, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", "./cmd/...", "./functions/...", "./hostagent/cmd/...")
	for line := range strings.Lines(out) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			linked[path] = dir
		}
	}
	if len(linked) < 10 {
		t.Fatalf("%d modules are linked:\n%s", len(linked), out)
	}
	listed := table(t)
	for path, dir := range linked {
		names, ok := listed[path]
		if !ok {
			t.Errorf("%s is linked and not in docs/licences.md", path)
			continue
		}
		text := licence(t, dir)
		for _, name := range strings.Split(names, ", ") {
			if phrase, known := phrases[name]; !known || !strings.Contains(text, phrase) {
				t.Errorf("%s is listed as %s, which its own file does not say", path, name)
			}
		}
	}
	for path := range listed {
		if linked[path] == "" {
			t.Errorf("%s is in docs/licences.md and linked into nothing", path)
		}
	}
}

// table reads the rows "| module | licence |".
func table(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "docs", "licences.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) == 2 && strings.Contains(cells[0], ".") {
			rows[strings.TrimSpace(cells[0])] = strings.TrimSpace(cells[1])
		}
	}
	return rows
}

// licence is the text that a module ships.
func licence(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(strings.ToUpper(e.Name()), "LICENSE") && !e.IsDir()
	})
	if i < 0 {
		t.Errorf("%s ships no licence", dir)
		return ""
	}
	b, err := os.ReadFile(filepath.Join(dir, entries[i].Name()))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}
