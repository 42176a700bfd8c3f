package local

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/awsops"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// remedyEvery is the period of the pass over cases, in fleet time, as in the template.
const remedyEvery = 15 * time.Second

// localActor signs what people say here: there is no login, and an audit trail needs
// a name.
const localActor = "arn:aws:iam::" + worldAccount + ":user/local"

// remedies makes the pass over sick hosts and the desk that takes people's words.
func (r *run) remedies(judge health.Policy) error {
	policy, err := remedy.DefaultPolicy()
	if err != nil {
		return err
	}
	policy.Mode = r.o.Mode
	if policy.Mode == "" {
		policy.Mode = remedy.Observe
	}
	switch policy.Mode {
	case remedy.Observe, remedy.Recommend, remedy.Act:
	default:
		return ErrMode
	}
	ops := awsops.Open(r.ecs.config, awsops.Options{Clock: r.now})
	r.pass = &remediate.Pass{Store: r.o.Cases, Ledger: r.ingest.Store, Vitals: &fleet.Signals{Records: r.o.Vitals, Policy: judge, Clock: r.now, Log: r.o.Log},
		Checks: ops, Eyes: ops, Hands: ops, Pager: noticed{r.o.Log}, Policy: policy, Clock: r.now, Log: r.o.Log}
	r.api = httpapi.API{Query: &r.query, Log: r.o.Log, Cases: r.o.Cases, Mode: string(policy.Mode),
		Desk: &remediate.Desk{Store: r.o.Cases, Vitals: r.o.Vitals, Health: judge, Clock: r.now}}
	return nil
}

// ErrMode is a mode of remedies that there is not.
var ErrMode = errors.New("a mode is observe, recommend or act")

// noticed tells a notice to the log: nobody is paged here.
type noticed struct{ log *slog.Logger }

// Tell implements remediate.Pager.
func (n noticed) Tell(ctx context.Context, x remediate.Notice) error {
	n.log.InfoContext(ctx, "notice", "cluster", x.Cluster, "case", x.Case, "subject", x.Subject, "page", x.Page, "text", x.Text)
	return nil
}

// documents are what Bulkhead's own Systems Manager documents do on a simulated host.
func documents(f *sim.Fleet) {
	f.RegisterDocument(remedy.DocumentMPSRestart, func(h *sim.Host, _ map[string][]string) sim.Answer {
		h.MPS = sim.DaemonServing
		return sim.Answer{Out: "MPS serves again"}
	})
	f.RegisterDocument(remedy.DocumentTerminateClients, nil)
	f.RegisterDocument(remedy.DocumentEvidence, nil)
	f.RegisterDocument(remedy.DocumentInstallAgent, nil)
}

// signed lets everyone on this machine speak as the local user.
func signed(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r.WithContext(httpapi.WithActor(r.Context(), localActor)))
	})
}

// remedy looks at every host and case, once a period.
func (r *run) remedy(ctx context.Context) error {
	now := r.now()
	if r.o.Cases == nil || now.Sub(r.lastRemedy) < remedyEvery {
		return nil
	}
	r.lastRemedy = now
	_, err := r.pass.Cluster(ctx, clusterARN)
	if err != nil && ctx.Err() == nil {
		r.o.Log.WarnContext(ctx, "remedies failed, the next pass goes on", "error", err.Error())
		err = nil
	}
	return err
}
