package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/admission"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

const chat7 = "arn:aws:ecs:us-east-1:111122223333:task-definition/chat:7"

// desk is the world that Revisions works in: its records, its bus, its ECS.
type desk struct {
	records   map[string]admission.Record
	revisions map[string]string
	asked     int
	told      map[string]int // events by id
	busFails  int
	put       []string
}

func (d *desk) Admission(_ context.Context, arn string) (admission.Record, error) {
	r, ok := d.records[arn]
	if !ok {
		return r, ledger.ErrNotFound
	}
	return r, nil
}

func (d *desk) SaveAdmission(_ context.Context, r admission.Record) error {
	d.records[r.ARN] = r
	return nil
}

func (d *desk) Revision(_ context.Context, arn string) (json.RawMessage, error) {
	d.asked++
	if src, ok := d.revisions[arn]; ok {
		return json.RawMessage(src), nil
	}
	return nil, ledger.ErrNotFound
}

func (d *desk) Announce(_ context.Context, _ time.Time, details []events.Own) error {
	if d.busFails > 0 {
		d.busFails--
		d.told[details[0].(events.AdmissionFinding).ID]++ // some went out before it failed
		return errors.New("bus down")
	}
	for _, x := range details {
		if _, _, err := events.Encode(x); err != nil {
			return err
		}
		d.told[x.(events.AdmissionFinding).ID]++
	}
	return nil
}

func (d *desk) Put(_ context.Context, m Message, reason string) error {
	d.put = append(d.put, m.ID+" "+reason)
	return nil
}

func newDesk() (*desk, *Revisions) {
	d := &desk{records: map[string]admission.Record{}, revisions: map[string]string{}, told: map[string]int{}}
	return d, &Revisions{Records: d, Source: d, Bus: d, Failures: d, Policy: admission.DefaultPolicy(), Log: slog.New(slog.DiscardHandler),
		Scope: ingest.Scope{Accounts: []string{"111122223333"}}, Clock: func() time.Time { return time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC) }}
}

func registeredChat(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../events/samples/cloudtrail-register-task-definition.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestARegisteredRevisionIsJudgedOnceAndToldOnce(t *testing.T) {
	d, s := newDesk()
	msgs := []Message{{ID: "1", Body: []byte(registeredChat(t))}, {ID: "2", Body: []byte(registeredChat(t))}}
	replies := s.Batch(context.Background(), msgs)
	if replies[0].Outcome != Applied || replies[1].Outcome != Duplicate {
		t.Errorf("%+v", replies)
	}
	r := d.records[chat7]
	if len(r.Findings) == 0 || !r.Announced || len(d.told) != len(r.Findings) {
		t.Errorf("%+v told %v", r, d.told)
	}
	for id, n := range d.told {
		if n != 1 {
			t.Errorf("%s told %d times", id, n)
		}
	}
}

func TestTheRevisionAsECSHasItGoesBeforeTheRequest(t *testing.T) {
	d, s := newDesk()
	d.revisions[chat7] = `{"taskDefinition":{"containerDefinitions":[{"name":"chat","resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":0}}}]}]}}`
	s.Batch(context.Background(), []Message{{ID: "1", Body: []byte(registeredChat(t))}})
	found := false
	for _, f := range d.records[chat7].Findings {
		found = found || f.Rule == "BH101"
	}
	if !found {
		t.Errorf("%+v", d.records[chat7])
	}
}

func TestAFailureBetweenKeepingAndTellingIsMadeGoodUnderTheSameIDs(t *testing.T) {
	d, s := newDesk()
	d.busFails = 1
	m := []Message{{ID: "1", Body: []byte(registeredChat(t))}}
	if r := s.Batch(context.Background(), m); r[0].Outcome != Failed || d.records[chat7].Announced {
		t.Errorf("%+v", r)
	}
	if r := s.Batch(context.Background(), m); r[0].Outcome != Applied || !d.records[chat7].Announced {
		t.Errorf("%+v", r)
	}
	if want := len(d.records[chat7].Findings); len(d.told) != want {
		t.Errorf("%d ids for %d findings: %v", len(d.told), want, d.told)
	}
}

func TestAnotherRuleSetJudgesAgain(t *testing.T) {
	d, s := newDesk()
	m := []Message{{ID: "1", Body: []byte(registeredChat(t))}}
	s.Batch(context.Background(), m)
	before := len(d.records[chat7].Findings)
	s.Policy.Disable = []string{d.records[chat7].Findings[0].Rule}
	if r := s.Batch(context.Background(), m); r[0].Outcome != Applied || len(d.records[chat7].Findings) >= before {
		t.Errorf("%+v %+v", r, d.records[chat7])
	}
}

func TestWhatIsNoRegistrationOfOursIsAnswered(t *testing.T) {
	d, s := newDesk()
	ours := registeredChat(t)
	for name, c := range map[string]struct {
		body string
		want Outcome
	}{
		"no JSON":         {"{", Rejected},
		"no answer":       {strings.Replace(ours, `"responseElements"`, `"other"`, 1), Rejected},
		"another account": {strings.ReplaceAll(ours, "111122223333", "999988887777"), Rejected},
		"forged":          {strings.Replace(ours, "us-east-1:111122223333:task-definition", "us-west-2:111122223333:task-definition", 1), Rejected},
		"another call":    {strings.Replace(ours, "RegisterTaskDefinition", "DeregisterTaskDefinition", 1), Ignored},
		"refused":         {strings.Replace(ours, `"eventName"`, `"errorCode": "ClientException", "eventName"`, 1), Ignored},
		"another event":   {strings.Replace(ours, "AWS API Call via CloudTrail", "Something New", 1), Unknown},
	} {
		d.put = nil
		if r := s.Batch(context.Background(), []Message{{ID: "1", Body: []byte(c.body)}}); r[0].Outcome != c.want {
			t.Errorf("%s: %+v, want %s", name, r[0], c.want)
		}
		if (len(d.put) == 1) != (c.want == Rejected) {
			t.Errorf("%s: to the failure queue: %v", name, d.put)
		}
	}
	if len(d.records) > 0 {
		t.Errorf("%v", d.records)
	}
}

func TestARevisionWithMoreFindingsThanAreKeptSaysSo(t *testing.T) {
	d, s := newDesk()
	var names []string
	for range 300 {
		names = append(names, `{"name":"CUDA_VISIBLE_DEVICES"}`)
	}
	d.revisions[chat7] = `{"containerDefinitions":[{"environment":[` + strings.Join(names, ",") + `],"resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":900}}}]}]}`
	if _, err := s.Judge(context.Background(), chat7, nil); err != nil {
		t.Fatal(err)
	}
	fs := d.records[chat7].Findings
	if len(fs) != maxFindings+1 || !strings.Contains(fs[maxFindings].Message, "more than") {
		t.Errorf("%d kept", len(fs))
	}
	if b, _ := json.Marshal(d.records[chat7]); len(b) > 350_000 {
		t.Errorf("%d bytes do not fit in an item", len(b))
	}
}

func TestASweepJudgesWhatNoEventToldOfWithinItsBudgetAndOnce(t *testing.T) {
	d, s := newDesk()
	arns := []string{"", "arn:aws:ecs:us-east-1:111122223333:task-definition/gone:1"}
	for _, n := range []string{"1", "2", "3"} {
		arn := "arn:aws:ecs:us-east-1:111122223333:task-definition/batch:" + n
		d.revisions[arn] = `{"containerDefinitions":[{"name":"a"}]}`
		arns = append(arns, arn)
	}
	for _, want := range []int{2, 1, 0} {
		if n, err := s.Unseen(context.Background(), arns, 2); n != want || err != nil {
			t.Errorf("%d judged, want %d: %v", n, want, err)
		}
	}
	asked := d.asked
	if _, err := s.Unseen(context.Background(), arns, 2); err != nil || d.asked != asked || len(d.records) != 3 {
		t.Errorf("asked ECS again: %d, %d records, %v", d.asked-asked, len(d.records), err)
	}
}
