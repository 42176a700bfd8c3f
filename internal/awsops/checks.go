package awsops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// StatusChecks reads EC2's status checks. The call has no filter by instance and one
// unknown id would fail a call by ids, so all running instances of the account are
// paged through, a thousand a call.
func (o *Ops) StatusChecks(ctx context.Context, instances []string) (map[string][]health.Signal, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*callTimeout)
	defer cancel()
	wanted := map[string]bool{}
	for _, id := range instances {
		wanted[id] = true
	}
	out, now := map[string][]health.Signal{}, o.Clock()
	pages := ec2.NewDescribeInstanceStatusPaginator(o.EC2, &ec2.DescribeInstanceStatusInput{MaxResults: aws.Int32(1000)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, fmt.Errorf("describe instance status: %w", err)
		}
		for _, s := range page.InstanceStatuses {
			if id := aws.ToString(s.InstanceId); wanted[id] {
				out[id] = append(out[id], statusSignals(s, now)...)
			}
		}
	}
	return out, nil
}

// statusSignals are the checks and the scheduled events of one instance.
func statusSignals(s types.InstanceStatus, now time.Time) []health.Signal {
	check := health.Signal{Kind: health.KindEC2Status, Witness: health.WitnessEC2Status, Reading: health.Unreadable, FirstSeen: now, LastSeen: now}
	all := []*types.InstanceStatusSummary{s.InstanceStatus, s.SystemStatus}
	ok := 0
	for _, x := range all {
		switch {
		case x == nil:
		case x.Status == types.SummaryStatusImpaired:
			check.Reading = health.Seen
			for _, d := range x.Details {
				if at := aws.ToTime(d.ImpairedSince).UTC(); d.ImpairedSince != nil && at.Before(check.FirstSeen) {
					check.FirstSeen = at
				}
				check.Text = strings.TrimSpace(check.Text + " " + string(d.Name) + " " + string(d.Status))
			}
		case x.Status == types.SummaryStatusOk:
			ok++
		}
	}
	if ok == len(all) {
		check.Reading = health.Clear
	}
	return append([]health.Signal{check}, scheduled(s.Events, now))
}

// scheduled is what EC2 has planned for the instance: what ends or stops it.
func scheduled(events []types.InstanceStatusEvent, now time.Time) health.Signal {
	out := health.Signal{Kind: health.KindRetirement, Witness: health.WitnessEC2Status, Reading: health.Clear, FirstSeen: now, LastSeen: now}
	ends := []types.EventCode{types.EventCodeInstanceRetirement, types.EventCodeInstanceStop}
	for _, e := range events {
		done := strings.HasPrefix(aws.ToString(e.Description), "[Completed]") || strings.HasPrefix(aws.ToString(e.Description), "[Canceled]")
		if slices.Contains(ends, e.Code) && !done {
			out.Reading = health.Seen
			out.Text = fmt.Sprintf("%s not before %s", e.Code, aws.ToTime(e.NotBefore).UTC().Format(time.RFC3339))
		}
	}
	return out
}
