package admission

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// several is a count of two or more.
const several = `[= ]?"?(?:[2-9]\b|[1-9]\d+)`

// severalSigns are command lines that start more than one CUDA process.
var severalSigns = regexp.MustCompile(`\btorchrun\b|--nproc[_-]per[_-]node\b|\btorch\.distributed\.(?:launch|run)\b` +
	`|--(?:tensor|pipeline|data)-parallel-size` + several + `|--(?:tp|dp|pp)(?:-size)?` + several +
	`|\bvllm\b.*\s-(?:tp|pp|dp)` + several + `|--num-shard` + several +
	`|\b(?:gunicorn|uvicorn|hypercorn|fastapi|granian)\b.*\s(?:--workers|-w)` + several +
	`|\bcelery\b.*\s(?:--concurrency|-c)` + several +
	`|\btritonserver\b|\bray start\b|\bmpirun\b|\bmpiexec\b|\baccelerate launch\b|\bdeepspeed\b`)

// severalVariables hold a count of processes, or flags that do.
var severalVariables = []string{"WEB_CONCURRENCY", "UVICORN_WORKERS", "GUNICORN_WORKERS", "NUM_SHARD", "NPROC_PER_NODE", "WORLD_SIZE"}

var trainingSigns = regexp.MustCompile(`\btorchrun\b|\bdeepspeed\b|\baccelerate launch\b|(?:^|[\s/])(?:train|finetune|fine_tune)\.py\b`)

var processRules = []Rule{
	{ID: "BH140", Severity: Warning, Title: "signs of several CUDA processes",
		Why:       "The memory limit holds for each process: n processes may take n times what ECS reserved.",
		Fix:       "Run one CUDA process in a container, or take a whole GPU with value.",
		container: severalProcesses},
	{ID: "BH141", Severity: Warning, Title: "framework that takes the whole card",
		Why:  "The container sees the memory of the whole card; a framework that sizes itself by it asks for more than the share.",
		Fix:  "Tell it the share as a part of the card: vLLM --gpu-memory-utilization, SGLang --mem-fraction-static, XLA_PYTHON_CLIENT_MEM_FRACTION or XLA_PYTHON_CLIENT_PREALLOCATE=false, TF_FORCE_GPU_ALLOW_GROWTH=true.",
		task: wholeCard},
	{ID: "BH142", Severity: Info, Title: "CUDA_DEVICE_MAX_CONNECTIONS costs client slots",
		Why:       "The number of MPS clients of a card holds for the default of 2 connections; a higher figure lowers it.",
		Fix:       "Leave CUDA_DEVICE_MAX_CONNECTIONS unset, or at 2 or less.",
		container: maxConnections},
	{ID: "BH143", Severity: Warning, Title: "training on a share",
		Why:       "Training uses the card without pause and is hurt by any neighbour's fault; AWS advises against sharing for it.",
		Fix:       "Take a whole GPU with value.",
		container: training},
}

// commandNode is where a finding about the command points.
func (c container) commandNode() *node {
	for _, f := range []string{"command", "entryPoint"} {
		if n := c.get(f); n != nil {
			return n
		}
	}
	return c.node
}

func severalProcesses(r *report, c container) {
	if c.share == nil {
		return
	}
	if m := severalSigns.FindString(c.words); m != "" {
		r.at(c.commandNode(), c.node, fmt.Sprintf("the command has %q", m))
	}
	for _, name := range severalVariables {
		v, _ := c.env(name)
		if n, ok := v.integer(); ok && n > 1 {
			r.at(v, c.node, fmt.Sprintf("%s is %d", name, n))
		}
	}
	if v, ok := c.env("GUNICORN_CMD_ARGS"); ok {
		if m := severalSigns.FindString("gunicorn " + v.string()); m != "" {
			r.at(v, c.node, fmt.Sprintf("GUNICORN_CMD_ARGS makes it %q", m))
		}
	}
}

func maxConnections(r *report, c container) {
	if v, ok := c.env("CUDA_DEVICE_MAX_CONNECTIONS"); ok && c.share != nil {
		if n, ok := v.integer(); ok && n > 2 {
			r.replace(v, c.node, "2", fmt.Sprintf("CUDA_DEVICE_MAX_CONNECTIONS is %d", n))
		}
	}
}

func training(r *report, c container) {
	if m := trainingSigns.FindString(c.words); c.share != nil && m != "" {
		r.at(c.commandNode(), c.node, fmt.Sprintf("the command has %q", strings.TrimSpace(m)))
	}
}

var lifeRules = []Rule{
	{ID: "BH150", Severity: Info, Title: "stopTimeout too short for a safe stop",
		Why:       "A CUDA process killed in the middle of its work can fault the MPS server that its neighbours use.",
		Fix:       "Set stopTimeout to at least the policy's safeStopSeconds, and let the program end on SIGTERM.",
		container: shortStop},
	{ID: "BH151", Severity: Info, Title: "no tier",
		Why:  "Without a tier a task counts as standard, and may stand on a card with any other standard task.",
		Fix:  "Tag the task definition, or label a container, with bulkhead:tier.",
		task: noTier},
	{ID: "BH152", Severity: Warning, Title: "GPU taken behind ECS's back",
		Why:       "NVIDIA_VISIBLE_DEVICES without a GPU requirement uses cards that ECS may give to others, with no limit.",
		Fix:       "Remove the variable and ask for a share with sharingStrategy.nvidiaMps.",
		container: legacySharing},
	{ID: "BH153", Severity: Info, Title: "no health check",
		Why:       "After a fatal GPU error a process may live on and fail every call; only a health check shows it.",
		Fix:       "Add a healthCheck that makes a small CUDA call, or asks the server that does.",
		container: noHealthCheck},
	{ID: "BH154", Severity: Info, Title: "several essential containers on one share of fate",
		Why:  "The task's shares are on one card, and the end of any essential container ends the others.",
		Fix:  "Make only one GPU container essential, or split the task.",
		task: essentialFanOut},
}

// defaultStopTimeout is how long ECS waits where a container does not say.
const defaultStopTimeout = 30

func shortStop(r *report, c container) {
	if c.share == nil {
		return
	}
	s, least := c.get("stopTimeout"), r.policy.SafeStopSeconds
	if s == nil {
		if least > defaultStopTimeout {
			r.at(c.node, c.node, fmt.Sprintf("stopTimeout is not set, so ECS waits %d s, less than %d s", defaultStopTimeout, least))
		}
		return
	}
	if v, ok := s.integer(); ok && v < least {
		r.replace(s, c.node, strconv.FormatInt(least, 10), fmt.Sprintf("stopTimeout is %d s, less than %d s", v, least))
	}
}

func noTier(r *report, t *task, cs []container) {
	s := sharing(cs)
	if len(s) == 0 {
		return
	}
	tags := t.tags
	if tags == nil {
		tags = t.root.get("tags")
	}
	if tags.unresolved() || tags.get(tierTag) != nil {
		return
	}
	for _, x := range tags.list() {
		if x.get("key").string() == tierTag {
			return
		}
	}
	if !slices.ContainsFunc(cs, func(c container) bool { return c.get("dockerLabels").get(tierTag) != nil }) {
		r.at(s[0].share, s[0].node, "the task definition has no tag or label "+tierTag)
	}
}

// tierTag is the tag that ingest reads the tier from.
const tierTag = "bulkhead:tier"

func legacySharing(r *report, c container) {
	if v, ok := c.env("NVIDIA_VISIBLE_DEVICES"); ok && len(c.reqs) == 0 && v != nil {
		if s := v.string(); s != "" && s != "void" && s != "none" {
			r.at(v, c.node, "NVIDIA_VISIBLE_DEVICES is "+s+", and the container asks ECS for no GPU")
		}
	}
}

func noHealthCheck(r *report, c container) {
	if h := c.get("healthCheck"); c.share != nil && (h == nil || h.kind == kindNull) {
		r.at(c.node, c.node, "the container shares a GPU and has no healthCheck")
	}
}

func essentialFanOut(r *report, _ *task, cs []container) {
	var essential []container
	for _, c := range sharing(cs) {
		if c.get("essential").string() != "false" {
			essential = append(essential, c)
		}
	}
	if len(essential) > 1 {
		last := essential[len(essential)-1]
		r.at(last.node, last.node, fmt.Sprintf("%d containers with a share are essential", len(essential)))
	}
}
