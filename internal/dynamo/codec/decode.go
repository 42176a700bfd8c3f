package codec

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// decoder resolves words. bad is set when one is not in the table.
type decoder struct {
	words []string
	bad   bool
}

func (d *decoder) word(v value) string {
	if v.number >= uint64(len(d.words)) {
		d.bad = true
		return ""
	}
	return d.words[v.number]
}

func (d *decoder) element(n protowire.Number, b []byte, h *ledger.Host) error {
	switch n {
	case fHealth:
		var c ledger.HealthCheck
		err := fields(b, func(n protowire.Number, v value) error {
			switch n {
			case 1:
				c.Type = d.word(v)
			case 2:
				c.Status = d.word(v)
			case 3:
				c.Reason = d.word(v)
			case 4:
				c.Changed = v.time()
			}
			return nil
		})
		h.Health = append(h.Health, c)
		return err
	case fLeaving:
		var l ledger.Leaving
		err := fields(b, func(n protowire.Number, v value) error {
			switch n {
			case 1:
				l.Cause = d.word(v)
			case 2:
				l.At = v.time()
			}
			return nil
		})
		h.Leaving = append(h.Leaving, l)
		return err
	case fDevice:
		x, err := d.device(b)
		h.Devices = append(h.Devices, x)
		return err
	case fTask:
		t, err := d.task(b)
		h.Tasks = append(h.Tasks, t)
		return err
	}
	r, err := d.reservation(b)
	h.Reservations = append(h.Reservations, r)
	return err
}

func (d *decoder) fixed(b []byte, f *ledger.Fixed) error {
	return fields(b, func(n protowire.Number, v value) error {
		switch n {
		case 1:
			f.EC2InstanceID = d.word(v)
		case 2:
			f.InstanceType = d.word(v)
		case 3:
			f.Zone = d.word(v)
		case 4:
			f.AMI = d.word(v)
		case 5:
			f.CapacityProvider = d.word(v)
		case 6:
			f.CapacityType = ledger.CapacityType(d.word(v))
		case 7:
			f.RegisteredAt = v.time()
		}
		return nil
	})
}

func (d *decoder) registration(b []byte, r *ledger.Registration) error {
	return fields(b, func(n protowire.Number, v value) error {
		switch n {
		case 1:
			r.Version = v.int()
		case 2:
			r.At = v.time()
		case 3:
			r.Status = d.word(v)
		case 4:
			r.AgentConnected = v.bool()
		case 5:
			r.AgentVersion = d.word(v)
		case 6:
			r.SharingCapable = v.bool()
		}
		return nil
	})
}

func (d *decoder) device(b []byte) (x ledger.DeviceFacts, err error) {
	err = fields(b, func(n protowire.Number, v value) error {
		switch n {
		case 1:
			x.UUID = gpu.UUID(d.word(v))
		case 2:
			x.Registered = v.int()
		case 3:
			x.Total = gpu.MiB(v.int())
		case 4:
			x.Described = v.int()
		case 5:
			x.Mode = gpu.Mode(d.word(v))
		}
		return nil
	})
	return x, err
}

func (d *decoder) task(b []byte) (t ledger.Task, err error) {
	var head, last, family string
	err = fields(b, func(n protowire.Number, v value) error {
		switch n {
		case 1:
			head = d.word(v)
		case 2:
			last, err = unpack(v.bytes)
			return err
		case 3:
			t.Version = v.int()
		case 4:
			t.At = v.time()
		case 5:
			t.Phase = ledger.Phase(v.int())
		case 6:
			t.LastStatus = d.word(v)
		case 7:
			t.Definition = d.word(v)
		case 20:
			family = d.word(v)
		case 8:
			t.Group = d.word(v)
		case 9:
			t.StartedBy = d.word(v)
		default:
			return d.restOfTask(n, v, &t)
		}
		return nil
	})
	t.ARN = head + last
	t.Definition += family
	return t, err
}

func (d *decoder) restOfTask(n protowire.Number, v value, t *ledger.Task) error {
	switch n {
	case 10:
		t.Tier = gpu.Tier(d.word(v))
	case 11:
		t.Capacity = ledger.CapacityType(d.word(v))
	case 12:
		t.Heard = v.time()
	case 13:
		t.StoppingAt = v.time()
	case 14:
		t.StoppedAt = v.time()
	case 15:
		t.StopTimeout = time.Duration(v.int()) * time.Millisecond
	case 16:
		t.StopCode = d.word(v)
	case 17:
		t.StopReason = d.word(v)
	case 18:
		s, err := d.share(v.bytes)
		t.Shares = append(t.Shares, s)
		return err
	case 19:
		t.Revived = v.int()
	case 21:
		k, err := d.kept(v.bytes)
		t.Kept = &k
		return err
	}
	return nil
}

func (d *decoder) kept(b []byte) (k ledger.Kept, err error) {
	err = fields(b, func(n protowire.Number, v value) error {
		switch n {
		case 1, 5:
			s, err := d.share(v.bytes)
			if n == 1 {
				k.Own = append(k.Own, s)
			} else {
				k.Naming.Shares = append(k.Naming.Shares, s)
			}
			return err
		case 2:
			k.Naming.Phase = ledger.Phase(v.int())
		case 3:
			k.Naming.Version = v.int()
		case 4:
			k.Naming.At = v.time()
		}
		return nil
	})
	return k, err
}

func (d *decoder) share(b []byte) (s ledger.TaskShare, err error) {
	err = fields(b, func(n protowire.Number, v value) error {
		switch n {
		case 1:
			s.Container = d.word(v)
		case 2:
			s.Need = ledger.Need(v.int())
		case 3:
			s.Sized = v.bool()
		case 4:
			s.Memory = gpu.MiB(v.int())
		case 5:
			s.Compute = gpu.Percent(v.int())
		case 6:
			s.GPUs = append(s.GPUs, gpu.UUID(d.word(v)))
		case 7:
			s.Bad = append(s.Bad, d.word(v))
		}
		return nil
	})
	return s, err
}

func (d *decoder) reservation(b []byte) (r ledger.Reservation, err error) {
	err = fields(b, func(n protowire.Number, v value) error {
		switch n {
		case 1:
			r.ID = d.word(v)
		case 2:
			r.Definition = d.word(v)
		case 3:
			r.Tier = gpu.Tier(d.word(v))
		case 4:
			r.MadeAt = v.time()
		case 5:
			r.LeaseUntil = v.time()
		case 6:
			c, err := d.need(v.bytes)
			r.Containers = append(r.Containers, c)
			return err
		}
		return nil
	})
	return r, err
}

func (d *decoder) need(b []byte) (c ledger.ContainerNeed, err error) {
	err = fields(b, func(n protowire.Number, v value) error {
		switch n {
		case 1:
			c.Name = d.word(v)
		case 2:
			c.Need = ledger.Need(v.int())
		case 3:
			c.Memory = gpu.MiB(v.int())
		case 4:
			c.Compute = gpu.Percent(v.int())
		case 5:
			c.Count = int(v.int())
		}
		return nil
	})
	return c, err
}
