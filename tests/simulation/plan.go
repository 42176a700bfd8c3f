package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// String is a plan as testdata/found.txt keeps it: seed, minutes, faults.
func (p Plan) String() string {
	return fmt.Sprintf("%d %d %s", p.Seed, p.Minutes, strings.Join(p.Faults, ","))
}

// ParsePlan reads what String wrote.
func ParsePlan(line string) (Plan, error) {
	f := strings.Fields(line)
	if len(f) != 3 {
		return Plan{}, fmt.Errorf("%q: want a seed, minutes and faults", line)
	}
	seed, err := strconv.ParseUint(f[0], 10, 64)
	if err != nil {
		return Plan{}, fmt.Errorf("%q is no seed", f[0])
	}
	minutes, err := strconv.Atoi(f[1])
	if err != nil || minutes < 1 || minutes > 24*60 {
		return Plan{}, fmt.Errorf("%q: minutes are 1 to 1440", f[1])
	}
	p := Plan{Seed: seed, Minutes: minutes, Faults: strings.Split(f[2], ",")}
	for _, x := range p.Faults {
		if !slices.Contains(FaultNames, x) {
			return Plan{}, fmt.Errorf("no fault %q: %s", x, strings.Join(FaultNames, ", "))
		}
	}
	return p, nil
}
