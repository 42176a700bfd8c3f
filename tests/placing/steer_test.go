package placing

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

func (w *world) steer(mode fleet.SteerMode) *fleet.Steer {
	return &fleet.Steer{Store: w.store, Attributes: w.client, Policy: policy(), Mode: mode, Clock: w.f.Now, Log: slog.New(slog.DiscardHandler)}
}

func (w *world) attributes(name string) map[string]string {
	w.t.Helper()
	as, err := w.client.ListAttribute(context.Background(), w.f.Cluster(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]string{}
	for _, a := range as {
		out[a.Instance] = a.Value
	}
	return out
}

func (w *world) service(name, constraint string, count int) {
	w.t.Helper()
	in := &ecs.CreateServiceInput{Cluster: aws.String(w.f.Cluster()), ServiceName: &name, TaskDefinition: &name, DesiredCount: aws.Int32(int32(count))}
	if constraint != "" {
		in.PlacementConstraints = []types.PlacementConstraint{{Type: types.PlacementConstraintTypeMemberOf, Expression: &constraint}}
	}
	if _, err := w.api.CreateService(context.Background(), in); err != nil {
		w.t.Fatal(err)
	}
}

func TestAServiceWithTheConstraintKeepsTheTiersApartUnderEveryChoice(t *testing.T) {
	for _, steered := range []bool{false, true} {
		broken := 0
		for _, choice := range sim.Choices {
			w := newWorld(t, choice, 4)
			admit := func(tier string, compute int) string {
				if !steered {
					return ""
				}
				return fmt.Sprintf("attribute:bulkhead.admit.%s >= %03d", tier, compute)
			}
			w.steerNow()
			w.service("chat", admit("critical", 40), 2)
			w.settle()
			w.service("batch", admit("batch", 30), 4)
			w.settle()
			w.do(func(f *sim.Fleet) {
				if n := len(f.Tasks()); n < 3 {
					t.Errorf("choice %v: only %d tasks run", choice, n)
				}
			})
			for _, v := range w.views() {
				for _, d := range v.Devices {
					tiers := map[string]bool{}
					for _, s := range d.Shares {
						if s.State.Holds() {
							tiers[string(s.Tier)] = true
						}
					}
					if len(tiers) > 1 {
						broken++
						if steered {
							t.Errorf("choice %v: %s holds %v", choice, d.UUID, tiers)
						}
					}
				}
			}
		}
		if !steered && broken == 0 {
			t.Error("without the constraint nothing breaks, so it proves nothing")
		}
	}
}

func (w *world) steerNow() {
	w.t.Helper()
	if _, err := w.steer(fleet.SteerAct).Cluster(context.Background(), w.f.Cluster()); err != nil {
		w.t.Fatal(err)
	}
}

// settle lets services place their tasks, with a sweep's steering every minute.
func (w *world) settle() {
	w.t.Helper()
	for range 6 {
		w.advance(time.Minute)
		w.steerNow()
	}
}

func TestAttributesAreWrittenOnlyOnChangeAndOnlyWhenActing(t *testing.T) {
	w := newWorld(t, sim.BestFit, 3)
	ctx := context.Background()
	for _, mode := range []fleet.SteerMode{"", fleet.SteerObserve, fleet.SteerRecommend} {
		rep, err := w.steer(mode).Cluster(ctx, w.f.Cluster())
		if err != nil || rep.Put != 12 || rep.Written || len(w.attributes(fleet.AttributeAdmit)) != 0 {
			t.Fatalf("%q: %+v, %v", mode, rep, err)
		}
	}
	s := w.steer(fleet.SteerAct)
	if rep, err := s.Cluster(ctx, w.f.Cluster()); err != nil || rep.Put != 12 || !rep.Written {
		t.Fatalf("%+v, %v", rep, err)
	}
	if rep, err := s.Cluster(ctx, w.f.Cluster()); err != nil || rep.Put+rep.Delete != 0 || rep.Written {
		t.Fatalf("written without a change: %+v, %v", rep, err)
	}
	for _, v := range w.attributes("bulkhead.admit.critical") {
		if v != "100" {
			t.Errorf("an empty host has %s left", v)
		}
	}
	w.submit(w.request("a", "chat", 1))
	w.carry()
	rep, err := s.Cluster(ctx, w.f.Cluster())
	if err != nil || rep.Put != 3 {
		t.Fatalf("one host changed for three tiers: %+v, %v", rep, err)
	}
	var got []string
	for _, tier := range []string{"critical", "standard", "batch"} {
		low := "999"
		for _, v := range w.attributes("bulkhead.admit." + tier) {
			low = min(low, v)
		}
		got = append(got, low)
	}
	if strings.Join(got, " ") != "060 000 000" {
		t.Errorf("%v", got)
	}
	rep, err = s.Remove(ctx, w.f.Cluster())
	if err != nil || rep.Delete != 12 || len(w.attributes(fleet.AttributeAdmit)) != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestADrainingHostTakesNothing(t *testing.T) {
	w := newWorld(t, sim.BestFit, 2)
	var one string
	w.do(func(f *sim.Fleet) {
		one = f.Hosts()[0].ARN
		if err := f.Drain(one, true); err != nil {
			t.Error(err)
		}
	})
	w.advance(time.Minute)
	w.steerNow()
	if a := w.attributes(fleet.AttributeAdmit); a[one] != "false" || len(a) != 2 {
		t.Errorf("%v", a)
	}
}
