package replay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// history makes a recorded day of a small fleet, with everything that happens to
// such records: several containers, whole cards, cards not named yet, a card that
// vanished, an instance that came back with new cards, a task that ECS contradicts
// itself about, notices about instances nobody knows, kinds nobody reads.
type history struct {
	rng    *rand.Rand
	events [][]byte
	seq    int
}

const (
	arnHead = "arn:aws:ecs:us-east-1:111122223333:"
	cluster = arnHead + "cluster/gpu-prod"
)

var dayStart = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

func makeHistory(seed uint64, hosts, want int) [][]byte {
	h := &history{rng: rand.New(rand.NewPCG(seed, 1))}
	for i := range hosts {
		h.host(i)
	}
	for task := 0; len(h.events) < want; task++ {
		h.task(task, h.rng.IntN(hosts))
	}
	return h.events[:want]
}

func (h *history) add(source, kind string, at time.Time, resource string, detail map[string]any) {
	h.seq++
	b, err := json.Marshal(map[string]any{"version": "0", "id": fmt.Sprintf("00000000-0000-4000-8000-%012d", h.seq), "detail-type": kind, "source": source,
		"account": "111122223333", "time": at.Format(time.RFC3339), "region": "us-east-1", "resources": []string{resource}, "detail": detail})
	if err != nil {
		panic(err)
	}
	h.events = append(h.events, b)
}

func instanceARN(i int) string {
	return arnHead + fmt.Sprintf("container-instance/gpu-prod/%032x", i+1)
}
func ec2ID(i int) string { return fmt.Sprintf("i-%017x", i+1) }

// cardIDs are the cards of a host in one generation; every fourth host has four.
func cardIDs(i, generation int) []string {
	n := 1
	if i%4 == 3 {
		n = 4
	}
	var out []string
	for c := range n {
		out = append(out, fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", i+1, generation*16+c+1))
	}
	return out
}

func (h *history) host(i int) {
	at := dayStart.Add(time.Duration(i) * time.Second)
	say := func(version int, status string, connected bool, cards []string) {
		at = at.Add(time.Duration(1+h.rng.IntN(3600)) * time.Second)
		h.add("aws.ecs", "ECS Container Instance State Change", at, instanceARN(i), map[string]any{
			"clusterArn": cluster, "containerInstanceArn": instanceARN(i), "ec2InstanceId": ec2ID(i), "status": status, "agentConnected": connected,
			"version": version, "registeredAt": dayStart.Format(time.RFC3339), "versionInfo": map[string]any{"agentVersion": "1.107.0"},
			"attributes":          []any{map[string]any{"name": "ecs.capability.gpu-sharing-mps"}, map[string]any{"name": "ecs.instance-type", "value": "g6.xlarge"}},
			"registeredResources": []any{map[string]any{"name": "GPU", "type": "STRINGSET", "stringSetValue": cards}},
		})
	}
	say(2, "ACTIVE", true, cardIDs(i, 0))
	say(5, "ACTIVE", false, cardIDs(i, 0))
	say(6, "ACTIVE", true, cardIDs(i, 0))
	switch i % 8 {
	case 3:
		say(90, "ACTIVE", true, cardIDs(i, 0)[:3]) // a card vanished
	case 4:
		say(90, "ACTIVE", true, cardIDs(i, 1)) // stopped and started: new cards
	case 5:
		say(90, "DRAINING", true, cardIDs(i, 0))
		h.add("aws.ec2", "EC2 Spot Instance Interruption Warning", at, ec2ID(i), map[string]any{"instance-id": ec2ID(i), "instance-action": "terminate"})
	case 6:
		say(91, "INACTIVE", false, cardIDs(i, 0))
		h.add("aws.ec2", "EC2 Instance State-change Notification", at, ec2ID(i), map[string]any{"instance-id": ec2ID(i), "state": "terminated"})
	}
	h.add("aws.ec2", "EC2 Instance State-change Notification", dayStart, ec2ID(i), map[string]any{"instance-id": ec2ID(i), "state": "running"})
	for n, status := range []string{"OK", "IMPAIRED", "OK"} {
		t := dayStart.Add(time.Duration(n+i) * time.Hour)
		h.add("aws.ecs", "ECS Container Instance Health Change", t, instanceARN(i), map[string]any{"clusterArn": cluster, "containerInstanceArn": instanceARN(i),
			"ec2InstanceId": ec2ID(i), "overallStatus": status, "healthChecks": []any{map[string]any{"type": "ACCELERATED_COMPUTE", "status": status,
				"lastStatusChange": t.Format(time.RFC3339), "statusReason": "XID_46"}}})
	}
	h.add("aws.ec2", "EC2 Instance Rebalance Recommendation", dayStart, "i-0ffffffffffffffff", map[string]any{"instance-id": "i-0ffffffffffffffff"})
	h.add("aws.ecs", "ECS Something New", dayStart, instanceARN(i), map[string]any{"x": i})
}

func (h *history) task(n, host int) {
	family := []string{"chat:7", "embed:3", "train:1", "nobody-described:9"}[n%4]
	cards := cardIDs(host, 0)
	card := cards[h.rng.IntN(len(cards))]
	containers := []any{map[string]any{"name": "app", "gpuIds": []string{card}}}
	if family == "embed:3" {
		containers = append(containers, map[string]any{"name": "side", "gpuIds": []string{card}}, map[string]any{"name": "log"})
	}
	at := dayStart.Add(time.Duration(h.rng.IntN(20*3600)) * time.Second)
	arn := arnHead + fmt.Sprintf("task/gpu-prod/%032x", n+1)
	created := at
	var version int
	say := func(last, desired string, named bool, extra map[string]any) {
		at = at.Add(time.Duration(1+h.rng.IntN(120)) * time.Second)
		cs := containers
		if !named {
			cs = []any{map[string]any{"name": "app"}}
		}
		d := map[string]any{"clusterArn": cluster, "taskArn": arn, "containerInstanceArn": instanceARN(host), "taskDefinitionArn": arnHead + "task-definition/" + family,
			"launchType": "EC2", "group": "service:" + family[:4], "lastStatus": last, "desiredStatus": desired, "version": version,
			"createdAt": created.Format(time.RFC3339), "containers": cs}
		for k, v := range extra {
			d[k] = v
		}
		h.add("aws.ecs", "ECS Task State Change", at, arn, d)
	}
	version = 1
	say("PENDING", "RUNNING", h.rng.IntN(3) > 0, nil)
	version = 2
	say("RUNNING", "RUNNING", n%17 != 0, nil)
	if h.rng.IntN(4) == 0 {
		return // still runs when the record ends
	}
	version = 3
	say("RUNNING", "STOPPED", true, map[string]any{"stoppingAt": at.Format(time.RFC3339)})
	if h.rng.IntN(6) == 0 {
		return // still stopping
	}
	version = 4
	say("STOPPED", "STOPPED", true, map[string]any{"stoppedAt": at.Format(time.RFC3339), "stopCode": "EssentialContainerExited"})
	if n%23 == 0 {
		version = 5 // ECS contradicts itself
		say("RUNNING", "RUNNING", true, nil)
	}
}
