package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// Module is the import path of this module.
const Module = "github.com/bulkhead-ecs/bulkhead"

// Violation is one broken rule.
type Violation struct {
	Pos  string // file:line
	Rule string // import, pure, level, doc
	Text string
}

func (v Violation) String() string { return v.Pos + ": " + v.Rule + ": " + v.Text }

// Check reads every non-test Go file under root and lists the broken rules, in
// order of their place.
func Check(root string) ([]Violation, error) {
	c := &checker{root: root, docs: map[string]bool{}, seen: map[string]bool{}}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if p != root && (name == "testdata" || name == "node_modules" || name == "vendor" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		return c.file(p)
	})
	c.undocumented()
	sort.Slice(c.found, func(i, j int) bool { return c.found[i].Pos < c.found[j].Pos })
	return c.found, err
}

type checker struct {
	root  string
	found []Violation
	docs  map[string]bool // directory has a package comment
	seen  map[string]bool
}

func (c *checker) file(p string) error {
	rel, err := filepath.Rel(c.root, p)
	if err != nil {
		return err
	}
	dir := path.Dir(filepath.ToSlash(rel))
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	at := func(pos token.Pos) string { return filepath.ToSlash(rel) + ":" + strconv.Itoa(fset.Position(pos).Line) }
	c.seen[dir] = true
	c.docs[dir] = c.docs[dir] || f.Doc != nil
	r, ok := ruleFor(dir)
	if !ok {
		c.add(at(f.Package), "level", "the tree %s has no level: name it in the table", dir)
		return nil
	}
	for _, im := range f.Imports {
		target, _ := strconv.Unquote(im.Path.Value)
		c.imports(at(im.Pos()), dir, r, target)
	}
	if _, exempt := pureAllows[dir]; r.level <= PureUpTo && !exempt {
		c.pure(f, at)
	}
	return nil
}

func (c *checker) add(pos, rule, format string, args ...any) {
	c.found = append(c.found, Violation{Pos: pos, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// imports holds one import against the table.
func (c *checker) imports(pos, dir string, r rule, target string) {
	own, ours := strings.CutPrefix(target, Module+"/")
	name := target
	if ours {
		name = own
	}
	for tree, users := range onlyFor {
		if !within(name, tree) {
			continue
		}
		allowed := false
		for _, u := range users {
			allowed = allowed || within(dir, u)
		}
		if !allowed {
			c.add(pos, "import", "%s may be imported only from %s", name, strings.Join(users, ", "))
		}
	}
	if !ours {
		if _, exempt := pureAllows[dir]; r.level <= PureUpTo && !exempt && banned(target) {
			c.add(pos, "pure", "a pure package may not import %s", target)
		}
		return
	}
	if within(own, r.prefix) {
		return
	}
	for _, a := range r.allow {
		if within(own, a) {
			return
		}
	}
	to, known := ruleFor(own)
	switch {
	case !known:
		c.add(pos, "level", "import of %s, which has no level", own)
	case r.prefix == "hostagent":
		c.add(pos, "import", "the host agent may import only %s, not %s", strings.Join(r.allow, ", "), own)
	case to.level >= r.level:
		c.add(pos, "import", "level %d (%s) may not import level %d (%s)", r.level, r.prefix, to.level, own)
	}
}

// pure looks for what a deciding package may not do.
func (c *checker) pure(f *ast.File, at func(token.Pos) string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			c.add(at(n.Pos()), "pure", "a pure package starts no goroutine")
		case *ast.ChanType:
			c.add(at(n.Pos()), "pure", "a pure package has no channel")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && pureCalls[x.Name+"."+n.Sel.Name] {
				c.add(at(n.Pos()), "pure", "a pure package may not call %s.%s: take it as an argument", x.Name, n.Sel.Name)
			}
		}
		return true
	})
}

func (c *checker) undocumented() {
	for dir := range c.seen {
		if !c.docs[dir] && !within(dir, "tests") {
			c.add(dir+"/doc.go:1", "doc", "package %s has no package comment", dir)
		}
	}
}
