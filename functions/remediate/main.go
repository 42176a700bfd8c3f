// Command remediate carries out what is decided about sick hosts: on a schedule, and
// at once when something asks for it.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/caarlos0/env/v11"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
	"github.com/bulkhead-ecs/bulkhead/internal/awsops"
	"github.com/bulkhead-ecs/bulkhead/internal/dynamo"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// settings are this function's own.
type settings struct {
	Mode   remedy.Mode `env:"BULKHEAD_REMEDY_MODE,required,notEmpty"`
	Policy string      `env:"BULKHEAD_REMEDY_POLICY"`
	Bucket string      `env:"BULKHEAD_EVIDENCE_BUCKET"`
	Hook   string      `env:"BULKHEAD_LIFECYCLE_HOOK"`
}

func main() { boot.Run(start) }

func start(c boot.Base) error {
	set, err := env.ParseAs[settings]()
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	policy, err := policyOf(set)
	if err != nil {
		return err
	}
	ops := awsops.Open(c.AWS, awsops.Options{Bucket: set.Bucket, Hook: set.Hook, Clock: boot.Clock})
	judge := sync.OnceValues(health.Default) // milliseconds that a cold start does not have to pay before it is ready
	pass := func(ctx context.Context, cluster string) (remediate.Report, error) {
		j, err := judge()
		if err != nil {
			return remediate.Report{Cluster: cluster}, err
		}
		return passOf(c, ops, policy, j).Cluster(ctx, cluster)
	}
	h := &handler{pass: pass, log: c.Log, clusters: func(ctx context.Context) ([]string, error) { return watched(ctx, c.Store, c.Clusters) }}
	lambda.Start(h.serve)
	return nil
}

// policyOf is the built-in policy or the operator's, in the mode of the template.
func policyOf(s settings) (remedy.Policy, error) {
	p, err := remedy.DefaultPolicy()
	if strings.TrimSpace(s.Policy) != "" {
		p, err = remedy.ParsePolicy([]byte(s.Policy))
	}
	if err != nil {
		return p, fmt.Errorf("BULKHEAD_REMEDY_POLICY: %w", err)
	}
	switch s.Mode {
	case remedy.Observe, remedy.Recommend, remedy.Act:
		p.Mode = s.Mode
		return p, nil
	}
	return p, fmt.Errorf("BULKHEAD_REMEDY_MODE is %q: use observe, recommend or act", s.Mode)
}

// margin is the time left for the last writes before Lambda ends the run.
const margin = 40 * time.Second

func passOf(c boot.Base, ops *awsops.Ops, policy remedy.Policy, judge health.Policy) *remediate.Pass {
	return &remediate.Pass{Store: c.Store, Ledger: c.Store, Vitals: &fleet.Signals{Records: c.Store, Policy: judge, Clock: boot.Clock, Log: c.Log},
		Checks: ops, Eyes: ops, Hands: ops, Pager: pager{log: c.Log, out: os.Stdout}, Policy: policy, Clock: boot.Clock, Log: c.Log, Parallel: 16, Margin: margin}
}

// watched are the clusters of the ledger that are watched.
func watched(ctx context.Context, store *dynamo.Store, names []string) ([]string, error) {
	all, err := store.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, arn := range all {
		if !fleet.IsOrphanage(arn) && (len(names) == 0 || contains(names, arn)) {
			out = append(out, arn)
		}
	}
	return out, nil
}

// contains reports whether a cluster is named, by ARN or by name.
func contains(names []string, arn string) bool {
	for _, n := range names {
		if n == arn || n == arn[strings.LastIndexByte(arn, '/')+1:] {
			return true
		}
	}
	return false
}
