package admission

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Policy is what differs from shop to shop. Cards take the place of the table of what EC2 has.
type Policy struct {
	Cards              []Card   `yaml:"cards"`
	ContextOverheadMiB gpu.MiB  `yaml:"contextOverheadMiB"` // what a CUDA context itself takes
	SafeStopSeconds    int64    `yaml:"safeStopSeconds"`    // the least stopTimeout for a CUDA process to end by itself
	Disable            []string `yaml:"disable"`            // ids of rules that do not apply here
}

// DefaultPolicy names no cards. The overhead is a cautious floor: contexts of current CUDA take some hundred MiB.
func DefaultPolicy() Policy { return Policy{ContextOverheadMiB: 256, SafeStopSeconds: 30} }

// RuleSet names the rules and the policy that Lint goes by: where it differs, a revision may be judged otherwise.
func (p Policy) RuleSet() string {
	h := sha256.New()
	for _, r := range Rules() {
		fmt.Fprintln(h, r.ID, r.Severity)
	}
	fmt.Fprintf(h, "%+v", p)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// ParsePolicy reads .bulkhead.yaml. Unknown keys and rules are refused with their line.
func ParsePolicy(content []byte) (Policy, error) {
	p := DefaultPolicy()
	if len(content) > 1<<20 {
		return p, fmt.Errorf("policy: %w: more than 1 MiB", ErrTooLarge)
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return p, nil
	}
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("policy: %w", err)
	}
	if err := knownRules(content, p.Disable); err != nil {
		return p, err
	}
	for _, c := range p.Cards {
		if c.MemoryMiB <= 0 || c.SMs < 0 {
			return p, fmt.Errorf("policy: card %q needs a memoryMiB above 0, and sms of 0 or more", c.Name)
		}
	}
	if p.ContextOverheadMiB < 0 || p.SafeStopSeconds < 0 {
		return p, fmt.Errorf("policy: contextOverheadMiB and safeStopSeconds are 0 or more")
	}
	return p, nil
}

// knownRules refuses a rule that there is not, with the line that names it.
func knownRules(content []byte, ids []string) error {
	for i, id := range ids {
		if _, ok := RuleByID(id); ok {
			continue
		}
		line := 0
		if roots, _, err := parseYAML(content, DefaultLimits); err == nil {
			if l := roots[0].get("disable").list(); i < len(l) {
				line = l[i].line
			}
		}
		return fmt.Errorf("policy: line %d: disable names %q, which is no rule", line, id)
	}
	return nil
}
