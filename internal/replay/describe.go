package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
)

// Described is what a directory of saved `aws ecs describe-*` answers holds.
type Described struct {
	Definitions []ingest.DefinitionShape
	Hosts       []ingest.HostShape
	Tasks       []ingest.TaskShape
}

// Limits of a describe directory.
const (
	maxDescribeFile  = 64 << 20
	maxDescribeFiles = 10_000
)

// answer is any of the describe answers, as the AWS CLI prints them.
type answer struct {
	TaskDefinition     *ingest.DefinitionShape  `json:"taskDefinition"`
	TaskDefinitions    []ingest.DefinitionShape `json:"taskDefinitions"`
	Tags               []ingest.TagShape        `json:"tags"`
	ContainerInstances []ingest.HostShape       `json:"containerInstances"`
	Tasks              []ingest.TaskShape       `json:"tasks"`
}

// ReadDescribed reads every .json file under a directory. A file may hold one
// answer, several after each other, or a list of them.
func ReadDescribed(dir fs.FS) (Described, error) {
	var out Described
	files := 0
	err := fs.WalkDir(dir, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".json" {
			return err
		}
		if files++; files > maxDescribeFiles {
			return fmt.Errorf("more than %d describe files: give a smaller directory", maxDescribeFiles)
		}
		if info, err := d.Info(); err != nil || info.Size() > maxDescribeFile {
			return fmt.Errorf("%s: not read, it is over %d MiB", p, maxDescribeFile>>20)
		}
		b, err := fs.ReadFile(dir, p)
		if err != nil {
			return err
		}
		if err := out.add(b); err != nil {
			return fmt.Errorf("%s: not an answer of aws ecs describe-*: %w", p, err)
		}
		return nil
	})
	return out, err
}

func (d *Described) add(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))))
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		list := []json.RawMessage{raw}
		if strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
			if err := json.Unmarshal(raw, &list); err != nil {
				return err
			}
		}
		for _, one := range list {
			var a answer
			if err := json.Unmarshal(one, &a); err != nil {
				return err
			}
			d.take(a)
		}
	}
	return nil
}

func (d *Described) take(a answer) {
	if a.TaskDefinition != nil {
		def := *a.TaskDefinition
		def.Tags = a.Tags
		d.Definitions = append(d.Definitions, def)
	}
	d.Definitions = append(d.Definitions, a.TaskDefinitions...)
	d.Hosts = append(d.Hosts, a.ContainerInstances...)
	d.Tasks = append(d.Tasks, a.Tasks...)
}
