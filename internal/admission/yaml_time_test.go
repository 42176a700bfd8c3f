package admission

import (
	"strings"
	"testing"
	"time"
)

func TestOneLongLineOfYAMLIsReadInTimeThatGrowsWithItsLength(t *testing.T) {
	for name, src := range map[string]string{
		"plain":   "containerDefinitions: [" + strings.Repeat("1,", 400_000) + "1]",
		"aliases": "containerDefinitions: [" + strings.Repeat("1,", 200_000) + "&a [1,2]" + strings.Repeat(",*a", 50_000) + "]",
	} {
		began := time.Now()
		if _, err := Read("f", []byte(src), Limits{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %v for %d bytes", name, took, len(src))
		}
	}
}
