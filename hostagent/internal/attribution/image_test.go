package attribution

import (
	"fmt"
	"testing"
)

// Peaks are sized by image, so the id that Docker lists must survive the join with
// what the ECS agent says of the same container.
func TestTheImageOfAContainerIsTheOneDockerLists(t *testing.T) {
	h := newHost(t)
	h.container(idA, "/serve", map[string]string{labelTask: arn, labelName: "serve", labelFamily: "llm", labelVersion: "7"})
	h.list[0]["ImageID"] = "sha256:0a1b\x1b"
	h.agent = fmt.Sprintf(`{"Tasks":[{"Arn":%q,"Family":"llm","Version":"7","Containers":[{"DockerId":%q,"Name":"serve"}]}]}`, arn, idA)
	h.process(10, 500, "python3", v2(idA))
	v, err := h.attributor().Attribute(t.Context(), sampleOf(holds(10, 3000, true)), nil)
	if err != nil || len(v.Usages) != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	if c := v.Usages[0].Container; c.Image != "sha256:0a1b?" || !c.Confirmed {
		t.Errorf("%+v", c)
	}
}
