// Command sweep compares the ledger with ECS and heals it, cluster by cluster, on
// a schedule.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
	"github.com/bulkhead-ecs/bulkhead/internal/admission"
	"github.com/bulkhead-ecs/bulkhead/internal/bus"
	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

// margin is the time left for the last commits before Lambda ends the run.
const margin = 20 * time.Second

func main() { boot.Run(start) }

func start(c boot.Base) error {
	policy, err := c.Placement()
	if err != nil {
		return err
	}
	mode, err := boot.SteerMode()
	if err != nil {
		return err
	}
	log, store := c.Log, c.Store
	client := &ecsapi.Client{API: ecs.NewFromConfig(c.AWS), Budget: ecsapi.NewBudget(0.75), Clock: boot.Clock}
	client.Budget.Modify = ecsapi.NewBudget(0.2).Modify // the rest is for what starts tasks
	steer := &fleet.Steer{Store: store, Attributes: client, Policy: policy, Mode: mode, Clock: boot.Clock, Log: log}
	s := &fleet.Sweep{Store: store, ECS: client, Definitions: &fleet.DefinitionCache{Store: store, Source: client}, Vitals: store, Bookmarks: store,
		Policy: c.Policy(), Tiers: c.Tiers(), Clock: boot.Clock, Log: log, Parallel: 16, Margin: margin, Wait: boot.Wait}
	s.Revisions = &fleet.Revisions{Records: store, Source: client, Policy: admission.DefaultPolicy(), Clock: boot.Clock, Log: log}
	if name := os.Getenv("BULKHEAD_EVENT_BUS"); name != "" {
		s.Revisions.Bus = &bus.Bus{API: eventbridge.NewFromConfig(c.AWS), Name: name}
	}
	mend := &placing.Mender{Ledger: store, Guard: client, Policy: policy, Act: os.Getenv("BULKHEAD_BREACH_MODE") == "act", Clock: placing.Clock(boot.Clock), Log: log}
	lambda.Start(func(ctx context.Context, _ json.RawMessage) ([]fleet.SweepReport, error) {
		clusters, err := watched(ctx, c.Clusters, client, store)
		if err != nil {
			return nil, err
		}
		reports, err := sweepAll(ctx, s, clusters, log)
		return reports, errors.Join(err, steerAll(ctx, steer, clusters, log), mendAll(ctx, mend, clusters))
	})
	return nil
}

// sweepAll sweeps each cluster; one that fails does not keep the others from it.
func sweepAll(ctx context.Context, s *fleet.Sweep, clusters []string, log *slog.Logger) ([]fleet.SweepReport, error) {
	var reports []fleet.SweepReport
	var errs []error
	for _, cluster := range clusters {
		rep, err := s.Cluster(ctx, cluster)
		if err != nil {
			log.ErrorContext(ctx, "sweep failed", "cluster", cluster, "error", err.Error())
			errs = append(errs, err)
		}
		reports = append(reports, rep)
	}
	return reports, errors.Join(errs...)
}

// steerAll brings the attributes of each cluster's hosts up to date with the ledger that
// the sweep has just healed.
func steerAll(ctx context.Context, s *fleet.Steer, clusters []string, log *slog.Logger) error {
	var errs []error
	for _, cluster := range clusters {
		rep, err := s.Cluster(ctx, cluster)
		if err != nil {
			errs = append(errs, err)
		}
		log.InfoContext(ctx, "steering done", "cluster", cluster, "mode", s.Mode, "hosts", rep.Hosts, "put", rep.Put, "delete", rep.Delete, "written", rep.Written)
	}
	return errors.Join(errs...)
}

// mendAll looks for cards on which ECS's choice broke the policy.
func mendAll(ctx context.Context, m *placing.Mender, clusters []string) error {
	var errs []error
	for _, cluster := range clusters {
		if _, err := m.Cluster(ctx, cluster); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// watched lists the ARNs of the clusters to sweep: those named, else all of the
// account; and those that the ledger still holds, so that a deleted cluster's
// hosts are laid to rest.
func watched(ctx context.Context, names []string, client *ecsapi.Client, store ledger.Store) ([]string, error) {
	all, err := client.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	held, err := store.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	all = append(all, slices.DeleteFunc(held, fleet.IsOrphanage)...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(arn string) bool {
		name := arn[strings.LastIndexByte(arn, '/')+1:]
		return len(names) > 0 && !slices.Contains(names, arn) && !slices.Contains(names, name)
	}), nil
}
