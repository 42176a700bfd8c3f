package attribution

import "strings"

// maxCgroupBytes bounds /proc/<pid>/cgroup: a v1 host has a dozen lines.
const maxCgroupBytes = 64 << 10

// ContainerID finds the outermost container in the text of /proc/<pid>/cgroup.
// It knows the paths of Docker and ECS on cgroup v1 ("/ecs/<task>/<id>",
// "/docker/<id>"), v2 ("/…/docker-<id>.scope"), and containers inside containers.
// Empty: the process is in no container, or the lines contradict each other.
func ContainerID(cgroup string) string {
	if len(cgroup) > maxCgroupBytes {
		return ""
	}
	found := ""
	for line := range strings.SplitSeq(cgroup, "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		id := outermost(parts[2])
		switch {
		case id == "":
		case found == "":
			found = id
		case found != id:
			// Controllers of one process never sit in two containers on a host
			// that is well; to guess would charge a stranger.
			return ""
		}
	}
	return found
}

// outermost returns the first path element that names a container.
func outermost(path string) string {
	for e := range strings.SplitSeq(path, "/") {
		e = strings.TrimSuffix(e, ".scope")
		for _, p := range []string{"docker-", "cri-containerd-", "libpod-"} {
			e = strings.TrimPrefix(e, p)
		}
		if isContainerID(e) {
			return e
		}
	}
	return ""
}

// isContainerID: 64 digits of hexadecimal (Docker), or a task id of 32 and a
// decimal number (ECS on containerd).
func isContainerID(s string) bool {
	if len(s) == 64 {
		return isHex(s)
	}
	task, n, ok := strings.Cut(s, "-")
	return ok && len(task) == 32 && isHex(task) && len(n) >= 6 && len(n) <= 12 && strings.Trim(n, "0123456789") == ""
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
