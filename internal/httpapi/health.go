package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// VitalsDoc is what is known of a host's health. Level is unknown while its agent
// has not reported.
type VitalsDoc struct {
	EC2InstanceID        string      `json:"ec2InstanceId"`
	ContainerInstanceARN string      `json:"containerInstanceArn"`
	Level                string      `json:"level"` // healthy, suspect, unknown, degraded, failed
	Action               string      `json:"action,omitempty"`
	AcceptsTasks         bool        `json:"acceptsTasks"`
	MPS                  string      `json:"mps,omitempty"`
	NVML                 string      `json:"nvml,omitempty"`
	Driver               string      `json:"driver,omitempty"`
	AgentVersion         string      `json:"agentVersion,omitempty"`
	BootID               string      `json:"bootId,omitempty"`
	ReportedAt           *time.Time  `json:"reportedAt,omitempty"`
	Reasons              []ReasonDoc `json:"reasons"`
}

// ReasonDoc is one standing condition.
type ReasonDoc struct {
	Token     string    `json:"token"`
	GPU       gpu.UUID  `json:"gpu,omitempty"` // empty: the host
	Level     string    `json:"level"`
	Actions   []string  `json:"actions"`
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	Count     int64     `json:"count"`
	Witnesses []string  `json:"witnesses"`
	Why       string    `json:"why,omitempty"`
	Text      string    `json:"text,omitempty"`
}

// vitals reads what a host's agent reported.
func (a *API) vitals(ctx context.Context, v ledger.View) (VitalsDoc, error) {
	h := v.Host
	doc := VitalsDoc{EC2InstanceID: h.Fixed.EC2InstanceID, ContainerInstanceARN: h.ID.Instance, Level: health.Unknown.String(), Reasons: []ReasonDoc{}}
	rec, err := a.Query.Health(ctx, h.Fixed.EC2InstanceID)
	if errors.Is(err, ledger.ErrNotFound) {
		return doc, nil
	}
	if err != nil {
		return doc, err
	}
	doc.Level, doc.Action, doc.AcceptsTasks = rec.Verdict.Host.Level.String(), string(rec.Verdict.Host.Action), rec.Verdict.Host.AcceptsTasks
	doc.MPS, doc.NVML, doc.Driver, doc.AgentVersion = rec.Report.MPS.State, rec.Report.NVML, rec.Report.Driver, rec.Report.AgentVersion
	doc.BootID, doc.ReportedAt = rec.BootID, &rec.ReceivedAt
	for _, r := range rec.Verdict.Reasons {
		doc.Reasons = append(doc.Reasons, reasonDoc(r))
	}
	return doc, nil
}

func reasonDoc(r health.Reason) ReasonDoc {
	d := ReasonDoc{Token: r.Token, GPU: r.Device, Level: r.Level.String(), FirstSeen: r.FirstSeen, LastSeen: r.LastSeen, Count: r.Count, Why: r.Why, Text: r.Text,
		Actions: []string{}, Witnesses: []string{}}
	for _, x := range r.Actions {
		d.Actions = append(d.Actions, string(x))
	}
	for _, x := range r.Witnesses {
		d.Witnesses = append(d.Witnesses, string(x))
	}
	return d
}

func (a *API) hostHealth(r *http.Request) (any, error) {
	v, err := a.view(r.Context(), r)
	if err != nil {
		return nil, err
	}
	return a.vitals(r.Context(), v)
}

func (a *API) health(r *http.Request) (any, error) {
	var broken error
	doc, err := list(a, r, "health", func(v ledger.View) []VitalsDoc {
		d, err := a.vitals(r.Context(), v)
		if err != nil && broken == nil {
			broken = err
		}
		if !wants(r.URL.Query().Get("level"), d.Level) || v.Host.Gone() {
			return nil
		}
		return []VitalsDoc{d}
	})
	return doc, errors.Join(err, broken)
}
