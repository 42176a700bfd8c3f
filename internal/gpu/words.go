package gpu

// Mode says how a card is used now.
type Mode string

// A card is idle, shared through MPS, or given whole to one container. Unknown
// is a card named by a task event before anything told how it is used.
const (
	ModeUnknown   Mode = "unknown"
	ModeIdle      Mode = "idle"
	ModeShared    Mode = "shared"
	ModeDedicated Mode = "dedicated"
)

// ModeOf reads ECS's word for it (GpuDevice.sharingMode); a word that is not
// known is ModeUnknown.
func ModeOf(ecs string) Mode {
	switch ecs {
	case "IDLE":
		return ModeIdle
	case "NVIDIA_MPS":
		return ModeShared
	case "DEDICATED":
		return ModeDedicated
	}
	return ModeUnknown
}

// Tier is the criticality of a task: which neighbours it may have. The set of
// names is the operator's (policy); the ledger only carries them.
type Tier string

// DefaultTier is the tier of a task for which no tag, label or mapping says
// otherwise.
const DefaultTier Tier = "standard"

// MaxTierLen bounds a tier name read from tags and labels.
const MaxTierLen = 32

// Processes says how many CUDA processes a container runs. ECS's memory ceiling
// is per process: hard for one, advisory for several.
type Processes uint8

// Unknown until a task definition or the host says.
const (
	ProcessesUnknown Processes = iota
	ProcessesSingle
	ProcessesSeveral
)

// MaxClients is the number of MPS client contexts that one card admits with the
// drivers of the ECS GPU AMIs (580 series, CUDA 13.0).
const MaxClients = 48

// MaxClientsProved is the number from CUDA 13.1 on; used only where the host
// proved its driver.
const MaxClientsProved = 60
