package admission

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// framework is a program that sizes itself by the memory of the card that it sees, which is the whole one.
type framework struct {
	name  string
	seen  *regexp.Regexp // in the image's name or the command
	flag  *regexp.Regexp // its fraction of the card, on the command line; nil when there is none
	env   string         // the variable with the fraction; empty when there is none
	tames []string       // variables, as name=value, with which it takes only what it needs
	fix   string         // what to write; %s is the fraction
}

var frameworks = []framework{
	{name: "vLLM", seen: regexp.MustCompile(`\bvllm\b`), flag: fraction("gpu-memory-utilization"), fix: "--gpu-memory-utilization %s"},
	{name: "SGLang", seen: regexp.MustCompile(`\bsglang\b`), flag: fraction("mem-fraction-static"), fix: "--mem-fraction-static %s"},
	{name: "text-generation-inference", seen: regexp.MustCompile(`\btext-generation-(?:launcher|inference)\b`), flag: fraction("cuda-memory-fraction"),
		env: "CUDA_MEMORY_FRACTION", fix: "--cuda-memory-fraction %s"},
	{name: "JAX", seen: regexp.MustCompile(`\bjax\b`), env: "XLA_PYTHON_CLIENT_MEM_FRACTION",
		tames: []string{"XLA_PYTHON_CLIENT_PREALLOCATE=false", "XLA_PYTHON_CLIENT_PREALLOCATE=0", "XLA_PYTHON_CLIENT_ALLOCATOR=platform"}, fix: "XLA_PYTHON_CLIENT_MEM_FRACTION=%s"},
	{name: "TensorFlow", seen: regexp.MustCompile(`\btensorflow/tensorflow\b|\btensorflow-(?:training|inference|serving)\b|\btensorflow/serving\b`), flag: fraction("per_process_gpu_memory_fraction"),
		tames: []string{"TF_FORCE_GPU_ALLOW_GROWTH=true", "TF_FORCE_GPU_ALLOW_GROWTH=1"}, fix: "TF_FORCE_GPU_ALLOW_GROWTH=true"},
}

func fraction(name string) *regexp.Regexp {
	return regexp.MustCompile(`--` + strings.NewReplacer("-", "[-_]", "_", "[-_]").Replace(name) + `[= ]\s*("?[^\s"]*)`)
}

// wholeCard finds the first framework that would take more of the card than the container's shares have.
func wholeCard(r *report, t *task, cs []container) {
	cards, known := t.targets(r.policy)
	card := smallest(cards) // where no card is named: what is too much for the smallest is too much for all
	if known {
		card = largest(cards)
	}
	for _, c := range cs {
		if c.share == nil {
			continue
		}
		image := strings.ToLower(c.get("image").string())
		for _, f := range frameworks {
			if f.seen.MatchString(image) || f.seen.MatchString(c.words) {
				f.judge(r, c, card)
				break
			}
		}
	}
}

func (f framework) judge(r *report, c container, card Card) {
	at, text := f.told(c)
	if at == nil {
		for _, tame := range f.tames {
			name, want, _ := strings.Cut(tame, "=")
			if v, ok := c.env(name); ok && (v.unresolved() || strings.EqualFold(v.string(), want)) {
				return
			}
		}
		r.at(c.place(f), c.node, f.name+" takes most of the card unless told less"+f.instead(c, card))
		return
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil { // a variable of the shell, or what the template fills in
		return
	}
	share, ok := c.sum()
	takes := gpu.MiB(v * float64(card.MemoryMiB))
	if v <= 0 || v > 1 || ok && takes > share {
		r.at(at, c.node, fmt.Sprintf("%s is told %s of the card: %s of %s (%s), and the share is %s%s", f.name, text, takes, card.Name, card.MemoryMiB, share, f.instead(c, card)))
	}
}

// told is the fraction that the framework is given, and where.
func (f framework) told(c container) (*node, string) {
	if f.flag != nil {
		if m := f.flag.FindStringSubmatch(c.words + " "); m != nil {
			text := strings.Trim(m[1], `"`)
			for _, w := range c.command() {
				if text != "" && strings.Contains(w.string(), text) {
					return w, text
				}
			}
			return c.commandNode(), text
		}
	}
	if f.env != "" {
		if v, ok := c.env(f.env); ok {
			return v, v.string()
		}
	}
	return nil, ""
}

// instead says what to write, where the share and the card say it.
func (f framework) instead(c container, card Card) string {
	share, ok := c.sum()
	if !ok || card.MemoryMiB <= 0 || !strings.Contains(f.fix, "%s") {
		return ""
	}
	part := math.Floor(float64(share)/float64(card.MemoryMiB)*100) / 100
	if part <= 0 || part > 1 {
		return ""
	}
	return fmt.Sprintf("; "+f.fix+" fits on %s", strconv.FormatFloat(part, 'f', -1, 64), card.Name)
}

// place is the command where the command names the framework, and the image otherwise.
func (c container) place(f framework) *node {
	if image := c.get("image"); image != nil && !f.seen.MatchString(c.words) {
		return image
	}
	return c.commandNode()
}

// sum is the memory of the container's shares; false when a part of it is not known.
func (c container) sum() (gpu.MiB, bool) {
	var sum gpu.MiB
	for _, s := range c.shares {
		v, ok := s.get("memory").integer()
		if !ok || v <= 0 || v > math.MaxInt32 {
			return 0, false
		}
		sum = sum.Add(gpu.MiB(v))
	}
	return sum, true
}
