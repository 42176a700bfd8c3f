// Package attribution says whose memory a GPU holds: from the process ids that
// NVML lists to containers and ECS tasks.
//
//	NVML pid ─▶ /proc/<pid>/cgroup ─▶ container id ─▶ Docker labels, ECS agent ─▶ task
//	             v1, v2, nested          outermost       cross-checked
//
// Resolve is pure; Proc, Docker and Introspection read the host, each with
// bounds, and Attributor puts them together with a cache. Nothing a container can
// write is trusted further than it can lie about itself: its name, labels of its
// image and environment are bounded, escaped and never executed.
//
// What must stay true, and is tested:
//
//   - A pid is a process only together with its start time. When that changed
//     between two reads, the process is unknown, never somebody else's.
//   - In nested cgroups the outermost container counts: a container cannot leave
//     its task by starting another inside.
//   - A process of no container is foreign and named, unless it is the MPS server.
//   - A memory figure that NVML does not know is unknown, not zero.
package attribution
