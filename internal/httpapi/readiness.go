package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing/readiness"
)

// reportSilence is how long a host may say nothing before nobody is said to watch its
// MPS daemon: three leases of an agent.
const reportSilence = 15 * time.Minute

var readinessParams = params{"ami": anyText}

// readiness is the preflight report of a cluster.
func (a *API) readiness(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	now := a.Query.Clock()
	in := readiness.Input{Cluster: cluster, Heard: map[string]readiness.Heard{}, AMIs: map[string]string{}, Silence: reportSilence}
	for _, s := range r.URL.Query()["ami"] {
		id, release, ok := strings.Cut(s, "=")
		if !ok || !strings.HasPrefix(id, "ami-") || readiness.Below(release, readiness.AMIFloor) == readiness.Unknown {
			return nil, problem(http.StatusBadRequest, ReasonBadParameter, "ami is AMI_ID=RELEASE, as ami-0abc=20261019; "+quote(s)+" is not.")
		}
		in.AMIs[id] = release
	}
	err = fleet.EachHost(r.Context(), a.Query.Store, cluster, func(h ledger.Host) error {
		if !fleet.Visible(h) || h.Gone() {
			return nil
		}
		in.Views = append(in.Views, h.View(now))
		rec, err := a.Query.Health(r.Context(), h.Fixed.EC2InstanceID)
		switch {
		case errors.Is(err, ledger.ErrNotFound):
		case err != nil:
			return err
		default:
			in.Heard[h.Fixed.EC2InstanceID] = readiness.Heard{At: rec.ReceivedAt, MPS: rec.Report.MPS.State, NVML: rec.Report.NVML}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return readiness.Judge(in, now), nil
}
