package carry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

// Placements is the queue of placement requests: one group a cluster, so that one
// placer at a time works on it.
type Placements struct {
	API *sqs.Client
	URL string
}

type placementMessage struct {
	Cluster string `json:"cluster"`
	ID      string `json:"id"`
}

// Send implements placing.Queue. Two messages of one request do no harm, one that SQS
// takes for a copy of an earlier one would: every send has an id of its own.
func (p Placements) Send(ctx context.Context, cluster, id string) error {
	body, err := json.Marshal(placementMessage{cluster, id})
	if err != nil {
		return err
	}
	_, err = p.API.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &p.URL, MessageBody: aws.String(string(body)),
		MessageGroupId: aws.String(groupOf(cluster)), MessageDeduplicationId: aws.String(fmt.Sprintf("%s-%d", id, time.Now().UnixNano()))})
	return err
}

// groupOf is a cluster's group: SQS takes 128 characters, an ARN may have more.
func groupOf(cluster string) string { return cluster[max(0, len(cluster)-128):] }

// soon is after how long a request with open copies comes again, in seconds. Until then
// its group waits, so it is short.
const soon = 5

// Place makes a handler of SQS events of a placer.
func (p Placements) Place(placer *placing.Placer, log *slog.Logger) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, ev events.SQSEvent) (events.SQSEventResponse, error) {
		var resp events.SQSEventResponse
		var order []string
		byCluster := map[string][]int{}
		msgs := make([]placementMessage, len(ev.Records))
		for i, r := range ev.Records {
			if err := json.Unmarshal([]byte(r.Body), &msgs[i]); err != nil || msgs[i].ID == "" || msgs[i].Cluster == "" {
				log.ErrorContext(ctx, "placement message unreadable", "message", r.MessageId)
				resp.BatchItemFailures = append(resp.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
				continue
			}
			if byCluster[msgs[i].Cluster] == nil {
				order = append(order, msgs[i].Cluster)
			}
			byCluster[msgs[i].Cluster] = append(byCluster[msgs[i].Cluster], i)
		}
		for _, cluster := range order {
			var ids []string
			for _, i := range byCluster[cluster] {
				ids = append(ids, msgs[i].ID)
			}
			for n, err := range placer.Batch(ctx, cluster, ids) {
				if err == nil {
					continue
				}
				r := ev.Records[byCluster[cluster][n]]
				if !errors.Is(err, placing.ErrLater) {
					log.ErrorContext(ctx, "placement failed, it comes again", "id", ids[n], "error", err.Error())
				}
				p.bringSoon(ctx, r.ReceiptHandle, log)
				resp.BatchItemFailures = append(resp.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
			}
		}
		return resp, nil
	}
}

// bringSoon asks for a message before its time. Where that fails it comes later.
func (p Placements) bringSoon(ctx context.Context, receipt string, log *slog.Logger) {
	if _, err := p.API.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &p.URL, ReceiptHandle: &receipt, VisibilityTimeout: soon}); err != nil {
		log.WarnContext(ctx, "message not brought sooner", "error", err.Error())
	}
}

var _ placing.Queue = Placements{}
