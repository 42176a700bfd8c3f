package pattern

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPatternsMatchAsTheBusDocumentsThem(t *testing.T) {
	for _, c := range []struct {
		pattern, event string
		want           bool
	}{
		{`{"source":["aws.ec2"]}`, `{"source":"aws.ec2","x":1}`, true},
		{`{"source":["aws.ec2"]}`, `{"source":"AWS.EC2"}`, false},
		{`{"source":["a","b"]}`, `{"source":"b"}`, true},
		{`{"a":["x"],"b":["y"]}`, `{"a":"x","b":"z"}`, false},
		{`{"detail":{"state":["running"]}}`, `{"detail":{"state":"running"}}`, true},
		{`{"detail":{"state":["running"]}}`, `{"detail":"running"}`, false},
		{`{"resources":["b"]}`, `{"resources":["a","b"]}`, true},
		{`{"n":[null]}`, `{"n":null}`, true},
		{`{"n":[null]}`, `{}`, false},
		{`{"n":[""]}`, `{"n":""}`, true},
		{`{"n":[300]}`, `{"n":3.0e2}`, true},
		{`{"n":[300]}`, `{"n":"300"}`, false},
		{`{"n":[true]}`, `{"n":true}`, true},
		{`{"time":[{"prefix":"2017-10-02"}]}`, `{"time":"2017-10-02T18:43:48Z"}`, true},
		{`{"s":[{"prefix":{"equals-ignore-case":"EventB"}}]}`, `{"s":"eventbridge"}`, true},
		{`{"f":[{"suffix":".png"}]}`, `{"f":"a.png"}`, true},
		{`{"f":[{"suffix":".png"}]}`, `{"f":"png"}`, false},
		{`{"s":[{"equals-ignore-case":"alice"}]}`, `{"s":"ALICE"}`, true},
		{`{"s":[{"anything-but":"initializing"}]}`, `{"s":"running"}`, true},
		{`{"s":[{"anything-but":["stopped","overloaded"]}]}`, `{"s":"stopped"}`, false},
		{`{"n":[{"anything-but":123}]}`, `{"n":123}`, false},
		{`{"s":[{"anything-but":{"prefix":"init"}}]}`, `{"s":"initializing"}`, false},
		{`{"s":[{"anything-but":{"suffix":[".txt",".rtf"]}}]}`, `{"s":"a.doc"}`, true},
		{`{"s":[{"anything-but":"x"}]}`, `{}`, false},
		{`{"c":[{"exists":true}]}`, `{"c":1}`, true},
		{`{"c":[{"exists":true}]}`, `{"c":null}`, true},
		{`{"c":[{"exists":false}]}`, `{"d":1}`, true},
		{`{"d":{"c":[{"exists":false}]}}`, `{"d":{"e":1}}`, true},
		{`{"n":[{"numeric":["<",10]}]}`, `{"n":9}`, true},
		{`{"n":[{"numeric":[">",0,"<=",5]}]}`, `{"n":5}`, true},
		{`{"n":[{"numeric":[">",0,"<=",5]}]}`, `{"n":0}`, false},
		{`{"n":[{"numeric":["=",3.018e2]}]}`, `{"n":301.8}`, true},
		{`{"f":[{"wildcard":"dir/*/x*.png"}]}`, `{"f":"dir/a/b/x1.png"}`, true},
		{`{"f":[{"wildcard":"dir/*.png"}]}`, `{"f":"dir/a.gif"}`, false},
		{`{"$or":[{"a":[1]},{"b":[{"numeric":["<",5]}]}]}`, `{"a":2,"b":4}`, true},
		{`{"s":["x"],"$or":[{"a":[1]},{"b":[2]}]}`, `{"s":"x","a":2,"b":3}`, false},
		{`{"h":{"type":["A"],"status":["BAD"]}}`, `{"h":[{"type":"A","status":"OK"},{"type":"B","status":"BAD"}]}`, true},
		{`{"h":{"type":["A"],"status":["BAD"]}}`, `{"h":[{"type":"A","status":"OK"}]}`, false},
	} {
		p, err := Parse([]byte(c.pattern))
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got, err := p.Match([]byte(c.event)); err != nil || got != c.want {
			t.Errorf("%s on %s: %v, %v", c.pattern, c.event, got, err)
		}
	}
}

func TestWhatIsNoPatternIsRefused(t *testing.T) {
	for _, raw := range []string{``, `[]`, `{}`, `{"a":"x"}`, `{"a":[]}`, `{"a":[[1]]}`, `{"a":[{}]}`, `{"a":[{"prefix":1}]}`, `{"a":[{"cidr":"10.0.0.0/8"}]}`,
		`{"a":[{"numeric":["<"]}]}`, `{"a":[{"numeric":["!",1]}]}`, `{"a":[{"anything-but":[]}]}`, `{"a":[{"exists":1}]}`, `{"a":[{"wildcard":"**"}]}`, `{"a":[1]}{}`,
		strings.Repeat(`{"a":`, 100) + `[1]` + strings.Repeat(`}`, 100)} {
		if _, err := Parse([]byte(raw)); !errors.Is(err, ErrPattern) {
			t.Errorf("%.60s: %v", raw, err)
		}
	}
	p, err := Parse([]byte(`{"a":[1]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{``, `[]`, `null`, `{`, `{}{}`} {
		if _, err := p.Match([]byte(raw)); !errors.Is(err, ErrEvent) {
			t.Errorf("event %q: %v", raw, err)
		}
	}
}

func TestATaskRuleLeavesFargateOut(t *testing.T) {
	p, err := Parse([]byte(`{"source":["aws.ecs"],"detail-type":["ECS Task State Change"],"detail":{"launchType":[{"anything-but":["FARGATE","EXTERNAL"]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../samples/*.json")
	matched := 0
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		want := strings.HasPrefix(name, "task-") && name != "task-fargate.json"
		got, err := p.Match(raw)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if got {
			matched++
		}
	}
	if matched == 0 {
		t.Error("the rule matched no sample")
	}
}

// FuzzPattern: no pattern and no event panics, and a match does not depend on chance.
func FuzzPattern(f *testing.F) {
	files, _ := filepath.Glob("../samples/*.json")
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(`{"source":["aws.ecs"],"detail":{"version":[{"numeric":[">",0]}]}}`), raw)
	}
	f.Add([]byte(`{"$or":[{"a":[{"wildcard":"*a*b"}]},{"a":[{"anything-but":{"prefix":"x"}}]}]}`), []byte(`{"a":["aab"]}`))
	f.Fuzz(func(t *testing.T, pattern, event []byte) {
		p, err := Parse(pattern)
		if err != nil {
			if !errors.Is(err, ErrPattern) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		first, err := p.Match(event)
		again, _ := p.Match(event)
		if first != again || err != nil && (first || !errors.Is(err, ErrEvent)) {
			t.Fatalf("%v then %v, %v", first, again, err)
		}
	})
}
