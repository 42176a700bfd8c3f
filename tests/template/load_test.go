package template

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// resource is one resource of the template, intrinsics in their long form.
type resource struct {
	Type       string
	Properties map[string]any
	Raw        map[string]any
}

// load reads the template; short forms such as !Ref become {"Ref": …}.
func load(t *testing.T) (whole map[string]any, resources map[string]resource) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	whole = plain(t, doc.Content[0]).(map[string]any)
	resources = map[string]resource{}
	for name, r := range whole["Resources"].(map[string]any) {
		m := r.(map[string]any)
		p, _ := m["Properties"].(map[string]any)
		resources[name] = resource{Type: m["Type"].(string), Properties: p, Raw: m}
	}
	return whole, resources
}

func plain(t *testing.T, n *yaml.Node) any {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		t.Fatalf("line %d: CloudFormation reads no anchors and aliases", n.Line)
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		name := "Fn::" + n.Tag[1:]
		if n.Tag == "!Ref" || n.Tag == "!Condition" {
			name = n.Tag[1:]
		}
		inner := *n
		inner.Tag = map[yaml.Kind]string{yaml.ScalarNode: "!!str", yaml.SequenceNode: "!!seq", yaml.MappingNode: "!!map"}[n.Kind]
		v := plain(t, &inner)
		if s, ok := v.(string); ok && name == "Fn::GetAtt" {
			head, tail, _ := strings.Cut(s, ".")
			v = []any{head, tail}
		}
		return map[string]any{name: v}
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if key == "<<" {
				t.Fatalf("line %d: CloudFormation merges no keys", n.Line)
			}
			if _, twice := m[key]; twice {
				t.Fatalf("line %d: %s is there twice", n.Content[i].Line, key)
			}
			m[key] = plain(t, n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, c := range n.Content {
			l[i] = plain(t, c)
		}
		return l
	}
	switch n.Tag {
	case "!!int":
		v, _ := strconv.Atoi(n.Value)
		return v
	case "!!bool":
		return n.Value == "true"
	case "!!float":
		v, _ := strconv.ParseFloat(n.Value, 64)
		return v
	}
	return n.Value
}

// at walks a path of keys.
func at(v any, path ...string) any {
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

// target is the resource that a Ref or GetAtt names.
func target(v any) string {
	m, _ := v.(map[string]any)
	if s, ok := m["Ref"].(string); ok {
		return s
	}
	if l, ok := m["Fn::GetAtt"].([]any); ok && len(l) > 0 {
		return l[0].(string)
	}
	return ""
}

func list(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case nil:
		return nil
	}
	return []any{v}
}
