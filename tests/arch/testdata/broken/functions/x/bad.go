// Package x is a sample that breaks the rules.
package x

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

var (
	_ = nvml.SUCCESS
	_ = sim.X
)
