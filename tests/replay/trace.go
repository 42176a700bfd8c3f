package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// cluster is a fleet and the demand made of it. One card is 1000 thousandths.
type cluster struct {
	nodes []placement.Node
	tasks []placement.Shape
	gpus  int64 // thousandths of a card in all
}

const wholeCard = 1000

// maxRows bounds what is read of one file.
const maxRows = 2_000_000

// traceFolder finds the folder with the files: dir itself, dir/csv or dir/openb/csv.
func traceFolder(dir string) (string, error) {
	for _, d := range []string{dir, filepath.Join(dir, "csv"), filepath.Join(dir, "openb", "csv"), filepath.Join(dir, "openb")} {
		if _, err := os.Stat(filepath.Join(d, nodeFile)); err == nil {
			return d, nil
		}
	}
	return "", fmt.Errorf("no %s in %s, its csv or its openb/csv: %w", nodeFile, dir, fs.ErrNotExist)
}

const nodeFile = "openb_node_list_gpu_node.csv"

// models numbers card models as bits, in the order they are met.
type models map[string]uint64

func (m models) bit(name string) (uint64, error) {
	if b, ok := m[name]; ok {
		return b, nil
	}
	if len(m) == 64 {
		return 0, errors.New("more than 64 card models")
	}
	b := uint64(1) << len(m)
	m[name] = b
	return b, nil
}

func readCluster(dir, mix string) (cluster, error) {
	var c cluster
	known := models{}
	err := eachRow(filepath.Join(dir, nodeFile), func(r row) error {
		bit, err := known.bit(r.text("model"))
		if err != nil {
			return err
		}
		n := placement.Node{CPU: r.number("cpu_milli"), Memory: r.number("memory_mib"), Cards: int32(r.number("gpu")), Model: bit, Total: wholeCard}
		if n.Cards > placement.MaxCards {
			return fmt.Errorf("%d cards, at most %d", n.Cards, placement.MaxCards)
		}
		for i := range n.Free[:n.Cards] {
			n.Free[i] = wholeCard
		}
		c.nodes = append(c.nodes, n)
		c.gpus += int64(n.Cards) * wholeCard
		return r.err
	})
	if err != nil {
		return c, err
	}
	err = eachRow(filepath.Join(dir, "openb_pod_list_"+mix+".csv"), func(r row) error {
		s := placement.Shape{CPU: r.number("cpu_milli"), Memory: r.number("memory_mib"), Cards: int32(r.number("num_gpu")), Share: int32(r.number("gpu_milli"))}
		for _, m := range strings.Split(r.text("gpu_spec"), "|") {
			if m == "" {
				continue
			}
			bit, err := known.bit(m)
			if err != nil {
				return err
			}
			s.Models |= bit
		}
		c.tasks = append(c.tasks, s)
		return r.err
	})
	if err == nil && (len(c.tasks) == 0 || c.gpus == 0) {
		err = fmt.Errorf("%s: no tasks or no cards", mix)
	}
	return c, err
}

// row is one line of a file, read by the names in its header.
type row struct {
	at     map[string]int
	fields []string
	err    error
}

func (r *row) text(name string) string {
	if i, ok := r.at[name]; ok && i < len(r.fields) {
		return r.fields[i]
	}
	return ""
}

func (r *row) number(name string) int64 {
	v, err := strconv.ParseInt(r.text(name), 10, 32)
	if err == nil && v < 0 {
		err = errors.New("negative")
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("column %s: %w", name, err)
	}
	return v
}

func eachRow(path string, do func(row) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := csv.NewReader(f)
	in.FieldsPerRecord = -1
	head, err := in.Read()
	if err != nil {
		return fmt.Errorf("%s: header: %w", path, err)
	}
	at := map[string]int{}
	for i, h := range head {
		at[strings.TrimSpace(h)] = i
	}
	for line := 2; line < maxRows; line++ {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(row{at: at, fields: fields})
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
	return fmt.Errorf("%s: more than %d lines", path, maxRows)
}
