package health

import "time"

// Policy is what an operator can set about judging.
type Policy struct {
	Xids       Table
	Conditions Table

	SilenceAfter time.Duration // our agent is silent when not heard for so long
	Quiet        time.Duration // a gap longer than this parts two incidents
	UnionWindow  time.Duration // the same Xid from two witnesses within this is one
	KeepCleared  time.Duration // how long a cleared condition stays as history
}

// Default is the policy with the built-in tables: silence after two missed
// leases of 300 s and a little, incidents parted by 3 min of quiet.
func Default() (Policy, error) {
	xids, err := XidTable()
	if err != nil {
		return Policy{}, err
	}
	conditions, err := ConditionTable()
	if err != nil {
		return Policy{}, err
	}
	return Policy{
		Xids: xids, Conditions: conditions,
		SilenceAfter: 630 * time.Second,
		Quiet:        3 * time.Minute,
		UnionWindow:  5 * time.Second,
		KeepCleared:  day,
	}, nil
}

// row is the row that judges a condition.
func (p *Policy) row(kind Kind, code int) Row {
	if kind == KindXid {
		r, _ := p.Xids.Code(code)
		return r
	}
	r, _ := p.Conditions.Kind(kind)
	return r
}

// outranks reports whether some event yields to this kind of state; such states
// are remembered even while they are good.
func (p *Policy) outranks(k Kind) bool {
	for _, t := range []*Table{&p.Xids, &p.Conditions} {
		for i := range t.Rows {
			for _, o := range t.Rows[i].OutrankedBy {
				if o == k {
					return true
				}
			}
		}
	}
	return false
}
