package attribution

import (
	"strings"
)

// Container is one container of the host.
type Container struct {
	ID      string
	Name    string // of the task definition, or Docker's
	Task    string // ARN; empty: not of ECS
	Family  string // "family:revision"
	Image   string // id of its image, "sha256:…"; empty when Docker did not tell
	Cluster string
	Promise Limits // injected at its start
	Running bool

	// Confirmed: the ECS agent names the same container for the same task. Labels
	// alone can come from an image.
	Confirmed bool
}

// Labels that the ECS agent writes on each container it starts.
const (
	labelTask    = "com.amazonaws.ecs.task-arn"
	labelName    = "com.amazonaws.ecs.container-name"
	labelFamily  = "com.amazonaws.ecs.task-definition-family"
	labelVersion = "com.amazonaws.ecs.task-definition-version"
	labelCluster = "com.amazonaws.ecs.cluster"
)

const maxARN = 2048

// taskARN returns s if it has the form of an ECS task's ARN.
func taskARN(s string) string {
	p := strings.SplitN(s, ":", 6)
	if len(s) > maxARN || len(p) != 6 || p[0] != "arn" || p[2] != "ecs" || !strings.HasPrefix(p[5], "task/") || printable(s, maxARN) != s {
		return ""
	}
	return s
}

// fromLabels fills in what Docker's labels tell.
func (c *Container) fromLabels(labels map[string]string) {
	c.Task = taskARN(labels[labelTask])
	if c.Task == "" {
		return
	}
	c.Cluster = printable(labels[labelCluster], maxARN)
	if n := labels[labelName]; n != "" {
		c.Name = printable(n, 255)
	}
	c.Family = family(labels[labelFamily], labels[labelVersion])
}

func family(name, revision string) string {
	if name == "" {
		return ""
	}
	f := printable(name, 255)
	if r := printable(revision, 16); r != "" {
		f += ":" + r
	}
	return f
}

// Merge joins Docker's view and the ECS agent's by container id. The agent's word
// on the task wins; where it answered (agentKnows) and does not know a container,
// the labels stay, unconfirmed: it may be starting, or forged.
func Merge(docker, agent []Container, agentKnows bool) map[string]Container {
	out := make(map[string]Container, len(docker)+len(agent))
	for _, c := range docker {
		c.Confirmed = false
		out[c.ID] = c
	}
	if !agentKnows {
		return out
	}
	for _, a := range agent {
		c, ok := out[a.ID]
		if !ok {
			c = a
			c.Running = true
		}
		c.Task, c.Confirmed = a.Task, true
		if a.Family != "" {
			c.Family = a.Family
		}
		if a.Name != "" {
			c.Name = a.Name
		}
		out[a.ID] = c
	}
	return out
}
