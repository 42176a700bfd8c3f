package carry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
)

func TestOnlyWhatFailedComesAgain(t *testing.T) {
	handler := SQS(func(_ context.Context, msgs []fleet.Message) []fleet.Reply {
		var out []fleet.Reply
		for _, m := range msgs {
			r := fleet.Reply{ID: m.ID, Outcome: fleet.Outcome(m.Body)}
			if r.Outcome == fleet.Failed {
				r.Err = errors.New("table throttled")
			}
			out = append(out, r)
		}
		return out
	}, slog.New(slog.DiscardHandler))
	var ev events.SQSEvent
	for _, outcome := range []fleet.Outcome{fleet.Applied, fleet.Failed, fleet.Rejected, fleet.Unknown, fleet.Ignored, fleet.Failed} {
		ev.Records = append(ev.Records, events.SQSMessage{MessageId: string(outcome) + "-" + string(rune('0'+len(ev.Records))), Body: string(outcome)})
	}
	resp, err := handler(context.Background(), ev)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range resp.BatchItemFailures {
		got = append(got, f.ItemIdentifier)
	}
	if strings.Join(got, " ") != "failed-1 failed-5" {
		t.Errorf("%v come again", got)
	}
}

func TestAMessageIsBuriedWithItsReason(t *testing.T) {
	var asked map[string]any
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &asked)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write([]byte(`{"MessageId":"1"}`))
	}))
	defer srv.Close()
	api := sqs.NewFromConfig(aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")},
		func(o *sqs.Options) { o.BaseEndpoint = &srv.URL; o.DisableMessageChecksumValidation = true })
	for _, body := range []string{"{", ""} {
		if err := (Failures{API: api, URL: "https://queue"}).Put(context.Background(), fleet.Message{ID: "m-1", Body: []byte(body)}, strings.Repeat("why ", 200)); err != nil {
			t.Fatal(err)
		}
		attributes, _ := json.Marshal(asked["MessageAttributes"])
		if asked["MessageBody"] == "" || !strings.Contains(string(attributes), "why why") || !strings.Contains(string(attributes), "m-1") {
			t.Errorf("sent %v", asked)
		}
	}
	srv.Close()
	if err := (Failures{API: api, URL: "https://queue"}).Put(context.Background(), fleet.Message{ID: "m"}, "x"); err == nil {
		t.Error("a queue that is gone took it")
	}
}
