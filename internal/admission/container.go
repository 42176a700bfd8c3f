package admission

import "strings"

// container is what the rules ask of one container definition.
type container struct {
	*node
	reqs   []*node // its GPU requirements
	share  *node   // the first of shares, nil when it does not share
	shares []*node // nvidiaMps values
	words  string  // entry point and command, one space between words
}

func (t *task) read() []container {
	var out []container
	for _, n := range t.containers.list() {
		c := container{node: n}
		for _, r := range n.get("resourceRequirements").list() {
			if !strings.EqualFold(r.get("type").string(), "GPU") {
				continue
			}
			c.reqs = append(c.reqs, r)
			if m := r.get("sharingStrategy").get("nvidiaMps"); m != nil {
				c.shares = append(c.shares, m)
			}
		}
		if len(c.shares) > 0 {
			c.share = c.shares[0]
		}
		var words []string
		for _, w := range c.command() {
			words = append(words, w.string())
		}
		c.words = strings.Join(words, " ")
		out = append(out, c)
	}
	return out
}

// command are the words of the entry point and the command. Some readers take one text for a list of one.
func (c container) command() []*node {
	var out []*node
	for _, f := range []string{"entryPoint", "command"} {
		n := c.get(f)
		if n != nil && n.kind == kindText {
			out = append(out, n)
		}
		out = append(out, n.list()...)
	}
	return out
}

// env is the value of a plain environment variable of the container, the last one of that name.
func (c container) env(name string) (*node, bool) {
	var v *node
	for _, e := range c.get("environment").list() {
		if e.get("name").string() == name {
			v = e.get("value")
		}
	}
	return v, v != nil
}
