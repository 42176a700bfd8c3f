package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
)

// Described is what a directory of saved `aws ecs describe-*` answers holds.
type Described struct {
	Definitions []ingest.DefinitionShape
	Hosts       []ingest.HostShape
	Tasks       []ingest.TaskShape
	// Problems are what could not be used. They take nothing else with them.
	Problems []Problem
}

// Problem is a file, or a part of one, that could not be used.
type Problem struct{ Where, Reason string }

// Limits of a describe directory.
const (
	maxDescribeFile  = 64 << 20
	maxDescribeFiles = 10_000
	maxProblems      = 1000
)

// answer is any of the describe answers, as the AWS CLI prints them. Each element
// is read by itself, so that an odd one loses only itself.
type answer struct {
	TaskDefinition     json.RawMessage   `json:"taskDefinition"`
	TaskDefinitions    []json.RawMessage `json:"taskDefinitions"`
	Tags               []ingest.TagShape `json:"tags"`
	ContainerInstances []json.RawMessage `json:"containerInstances"`
	Tasks              []json.RawMessage `json:"tasks"`
}

// ReadDescribed reads every .json file under a directory. A file may hold one
// answer, several after each other, or a list of them. What cannot be used is a
// Problem; only a directory that cannot be read, or that is too large, is an error.
func ReadDescribed(dir fs.FS) (Described, error) {
	var out Described
	files := 0
	err := fs.WalkDir(dir, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && p == ".":
			return errors.New("it cannot be read: no such directory, or no permission")
		case err != nil:
			out.problem(p, "it cannot be read")
			return nil //nolint:nilerr // named, and the rest is read
		case d.IsDir() || path.Ext(p) != ".json":
			return nil
		}
		if files++; files > maxDescribeFiles {
			return fmt.Errorf("more than %d describe files: give a smaller directory", maxDescribeFiles)
		}
		if tooLarge(d) {
			out.problem(p, fmt.Sprintf("not read, it is over %d MiB", maxDescribeFile>>20))
			return nil
		}
		b, err := fs.ReadFile(dir, p)
		if err != nil {
			out.problem(p, "it cannot be read")
			return nil //nolint:nilerr // named, and the rest is read
		}
		out.file(p, b)
		return nil
	})
	return out, err
}

func tooLarge(d fs.DirEntry) bool {
	info, err := d.Info()
	return err == nil && info.Size() > maxDescribeFile
}

func (d *Described) problem(where, why string) {
	if len(d.Problems) < maxProblems {
		d.Problems = append(d.Problems, Problem{ingest.Bounded(where, 200), ingest.Bounded(why, 256)})
	}
}

// file reads the answers of one file.
func (d *Described) file(name string, b []byte) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))))
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			if !errors.Is(err, io.EOF) {
				d.problem(name, "it is not whole JSON: save an answer of aws ecs describe-* there")
			}
			return
		}
		list := []json.RawMessage{raw}
		if raw[0] == '[' {
			list = nil
			_ = json.Unmarshal(raw, &list) // it is whole JSON, and a list
		}
		for _, one := range list {
			var a answer
			if err := json.Unmarshal(one, &a); err != nil {
				d.problem(name, "not an answer of aws ecs describe-*: "+plain(err))
				continue
			}
			d.take(name, a)
		}
	}
}

func (d *Described) take(file string, a answer) {
	if a.TaskDefinition == nil && a.TaskDefinitions == nil && a.ContainerInstances == nil && a.Tasks == nil {
		d.problem(file, "holds no taskDefinition, containerInstances or tasks")
		return
	}
	definitions := a.TaskDefinitions
	if a.TaskDefinition != nil {
		definitions = append(definitions[:len(definitions):len(definitions)], a.TaskDefinition)
	}
	for i, raw := range definitions {
		var def ingest.DefinitionShape
		if d.decode(raw, &def, file, "task definition", i) {
			if i == len(definitions)-1 {
				def.Tags = a.Tags
			}
			d.Definitions = append(d.Definitions, def)
		}
	}
	for i, raw := range a.ContainerInstances {
		var h ingest.HostShape
		if d.decode(raw, &h, file, "container instance", i) {
			d.Hosts = append(d.Hosts, h)
		}
	}
	for i, raw := range a.Tasks {
		var t ingest.TaskShape
		if d.decode(raw, &t, file, "task", i) {
			d.Tasks = append(d.Tasks, t)
		}
	}
}

// decode reads one element; false when it is odd, which is a problem.
func (d *Described) decode(raw json.RawMessage, into any, file, what string, i int) bool {
	err := json.Unmarshal(raw, into)
	if err != nil {
		d.problem(file, fmt.Sprintf("%s %d is not used: %s", what, i+1, plain(err)))
	}
	return err == nil
}

// plain says what is wrong with a value in words of the file, not of the program.
func plain(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		field := wrong.Field
		if field == "" {
			field = "it"
		}
		return fmt.Sprintf("%s is %s, which does not belong there", field, wrong.Value)
	}
	return err.Error()
}
