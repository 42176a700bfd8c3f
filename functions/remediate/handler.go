package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
)

// handler makes a pass over every watched cluster. A message of the queue says only
// that something changed: what is to be done is in the table and in the world.
type handler struct {
	pass     func(ctx context.Context, cluster string) (remediate.Report, error)
	clusters func(ctx context.Context) ([]string, error)
	log      *slog.Logger
}

// answer is what Lambda is told: for the schedule the reports, for a batch of
// messages those that must come again.
type answer struct {
	Reports           []remediate.Report           `json:"reports,omitempty"`
	BatchItemFailures []events.SQSBatchItemFailure `json:"batchItemFailures"`
}

func (h *handler) serve(ctx context.Context, in json.RawMessage) (answer, error) {
	var batch events.SQSEvent
	if err := json.Unmarshal(in, &batch); err != nil {
		return answer{}, fmt.Errorf("event: %w", err)
	}
	out := answer{BatchItemFailures: []events.SQSBatchItemFailure{}}
	err := h.passes(ctx, &out)
	if err == nil || len(batch.Records) == 0 {
		return out, err
	}
	h.log.ErrorContext(ctx, "pass failed, its messages come again", "messages", len(batch.Records), "error", err.Error())
	for _, m := range batch.Records {
		out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
	}
	return out, nil
}

// passes goes over the clusters; one that fails does not keep the others from it.
func (h *handler) passes(ctx context.Context, out *answer) error {
	clusters, err := h.clusters(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range clusters {
		rep, err := h.pass(ctx, c)
		if err != nil {
			h.log.ErrorContext(ctx, "pass failed", "cluster", c, "error", err.Error())
			errs = append(errs, err)
		}
		out.Reports = append(out.Reports, rep)
	}
	return errors.Join(errs...)
}

// pager tells people by a metric that an alarm watches, and by the line beside it.
type pager struct {
	log *slog.Logger
	out io.Writer
}

// Tell writes the notice as a line of the log with an embedded metric. CloudWatch
// Logs reads it from there, so no call can fail.
func (p pager) Tell(_ context.Context, n remediate.Notice) error {
	pages := 0
	if n.Page {
		pages = 1
	}
	line, err := json.Marshal(map[string]any{
		"_aws": map[string]any{"Timestamp": n.At.UnixMilli(), "CloudWatchMetrics": []any{map[string]any{"Namespace": "Bulkhead", "Dimensions": []any{[]string{}},
			"Metrics": []any{map[string]any{"Name": "RemedyPages", "Unit": "Count"}}}}},
		"RemedyPages": pages, "msg": "notice", "cluster": n.Cluster, "case": n.Case, "subject": n.Subject, "page": n.Page, "text": n.Text})
	if err != nil {
		return err
	}
	_, err = p.out.Write(append(line, '\n'))
	return err
}
