package sizing

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// worst tries every multiset that fits, one by one, and returns the largest sum of
// ceilings and the most tenants: the oracle of Safe and Shape.
func worst(all []Shaped, total gpu.MiB) (compute gpu.Percent, tenants int) {
	var walk func(from int, left gpu.MiB, c gpu.Percent, n int)
	walk = func(from int, left gpu.MiB, c gpu.Percent, n int) {
		compute, tenants = max(compute, c), max(tenants, n)
		for i := from; i < len(all); i++ {
			if all[i].Declare <= left {
				walk(i, left-all[i].Declare, c+all[i].Compute, n+1)
			}
		}
	}
	walk(0, total, 0, 0)
	return compute, tenants
}

func broken(all []Shaped, total gpu.MiB, l Limits) bool {
	c, n := worst(all, total)
	return l.Budget > 0 && c > l.Budget || l.Tenants > 0 && n > l.Tenants
}

// prove holds an answer against the oracle: safe on every card, and minimal.
func prove(t interface{ Fatalf(string, ...any) }, services []Service, cards []gpu.MiB, l Limits) {
	got, err := Shape(services, cards, l)
	if errors.Is(err, ErrShapeImpossible) {
		return
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, card := range cards {
		if broken(got, card, l) {
			c, n := worst(got, card)
			t.Fatalf("%+v on %s with %+v: ECS can reach %s and %d tenants", got, card, l, c, n)
		}
	}
	most := cards[0]
	for _, c := range cards {
		most = max(most, c)
	}
	for i := range got {
		if got[i].Declare < got[i].Memory {
			t.Fatalf("%s got %s, below its need %s", got[i].Name, got[i].Declare, got[i].Memory)
		}
		if got[i].Declare == got[i].Memory {
			continue
		}
		got[i].Declare--
		if !broken(got, most, l) {
			t.Fatalf("%+v on %s with %+v is safe with 1 MiB less for %s", got, most, l, got[i].Name)
		}
		got[i].Declare++
	}
}

func TestEverySmallCaseIsSafeAndMinimalWhateverECSPicks(t *testing.T) {
	n := 0
	for total := gpu.MiB(4); total <= 13; total += 3 {
		for _, budget := range []gpu.Percent{0, 50, 100, 150} {
			for _, tenants := range []int{0, 1, 3} {
				if budget == 0 && tenants == 0 {
					continue
				}
				for m1 := gpu.MiB(1); m1 <= 3; m1++ {
					for m2 := gpu.MiB(1); m2 <= 3; m2++ {
						for _, c1 := range []gpu.Percent{0, 10, 33, 50} {
							for _, c2 := range []gpu.Percent{20, 34, 51, 100} {
								prove(t, []Service{{"a", m1, c1}, {"b", m2, c2}}, []gpu.MiB{total, total - 2}, Limits{budget, tenants})
								n++
							}
						}
					}
				}
			}
		}
	}
	if n < 5000 {
		t.Errorf("only %d cases", n)
	}
}

func TestAnyMixIsSafeAndMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var services []Service
		for i := range rapid.IntRange(1, 4).Draw(t, "services") {
			services = append(services, Service{Name: string(rune('a' + i)), Memory: gpu.MiB(rapid.IntRange(1, 12).Draw(t, "memory")), Compute: gpu.Percent(rapid.IntRange(5, 100).Draw(t, "compute"))})
		}
		l := Limits{Budget: gpu.Percent(rapid.IntRange(0, 250).Draw(t, "budget")), Tenants: rapid.IntRange(0, 8).Draw(t, "tenants")}
		if l.Budget == 0 && l.Tenants == 0 {
			l.Tenants = 2
		}
		prove(t, services, []gpu.MiB{gpu.MiB(rapid.IntRange(1, 30).Draw(t, "card"))}, l)
	})
}

// Declared in proportion, 40 % would take two fifths; bisection finds that one third
// and a little is enough, since three of them are what must not fit.
func TestARealCardIsShapedToTheLeast(t *testing.T) {
	got, err := Shape([]Service{{"chat", 6000, 40}}, []gpu.MiB{22563, 15000}, Limits{Budget: 100})
	if err != nil || got[0].Declare != 22563/3+1 || got[0].Alone != 2 || !got[0].Fits {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatCannotBeShapedIsRefusedWithTheReason(t *testing.T) {
	one := []Service{{"a", 100, 50}}
	for name, c := range map[string]struct {
		s    []Service
		card []gpu.MiB
		l    Limits
		want error
	}{
		"no service":     {nil, []gpu.MiB{10}, Limits{Budget: 100}, ErrShapeInput},
		"no card":        {one, nil, Limits{Budget: 100}, ErrShapeInput},
		"no limit":       {one, []gpu.MiB{1000}, Limits{}, ErrShapeInput},
		"card of zero":   {one, []gpu.MiB{0}, Limits{Budget: 100}, ErrShapeInput},
		"absurd card":    {one, []gpu.MiB{1 << 40}, Limits{Budget: 100}, ErrShapeInput},
		"memory of zero": {[]Service{{"a", 0, 50}}, []gpu.MiB{1000}, Limits{Budget: 100}, ErrShapeInput},
		"negative share": {[]Service{{"a", 5, -1}}, []gpu.MiB{1000}, Limits{Budget: 100}, ErrShapeInput},
		"absurd budget":  {one, []gpu.MiB{1000}, Limits{Budget: 1 << 30}, ErrShapeInput},
		"over budget":    {[]Service{{"a", 5, 0}}, []gpu.MiB{1000}, Limits{Budget: 90}, ErrShapeImpossible},
		"over the card":  {one, []gpu.MiB{99}, Limits{Tenants: 1}, ErrShapeImpossible},
	} {
		if _, err := Shape(c.s, c.card, c.l); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
