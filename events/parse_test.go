package events

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func taskEvent(detail string) []byte {
	return fmt.Appendf(nil, `{"version":"0","id":"1","source":"aws.ecs","detail-type":"ECS Task State Change","detail":%s}`, detail)
}

func TestHostileInputIsRefusedWithTheRightError(t *testing.T) {
	for name, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"empty":                  {nil, ErrMalformed},
		"cut short":              {taskEvent(`{"version":1`), ErrMalformed},
		"an array":               {[]byte(`[1]`), ErrMalformed},
		"null":                   {[]byte(`null`), ErrMalformed},
		"no source":              {[]byte(`{"detail-type":"x"}`), ErrMalformed},
		"two objects":            {[]byte(`{"source":"a","detail-type":"b"}{}`), ErrMalformed},
		"invalid UTF-8":          {taskEvent("{\"group\":\"\xff\xfe\"}"), ErrMalformed},
		"nested 10000 deep":      {taskEvent(`{"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`), ErrMalformed},
		"over size":              {taskEvent(`{"x":"` + strings.Repeat("a", MaxBytes) + `"}`), ErrTooLarge},
		"many elements":          {taskEvent(`{"containers":[` + strings.Repeat("1,", 100_000) + `1]}`), ErrTooLarge},
		"a million elements":     {taskEvent(`{"containers":[` + strings.Repeat("{},", 1_000_000) + `{}]}`), ErrTooLarge},
		"detail is text":         {taskEvent(`"RUNNING"`), ErrDetail},
		"detail is absent":       {[]byte(`{"source":"aws.ecs","detail-type":"ECS Task State Change"}`), ErrDetail},
		"containers is a number": {taskEvent(`{"containers":3}`), ErrDetail},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(c.raw, Limits{}); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestAWrongTypeIsToldByTheNameOfItsMember(t *testing.T) {
	for detail, member := range map[string]string{
		`{"lastStatus":{}}`:                   "lastStatus",
		`{"version":"five"}`:                  "version",
		`{"version":1.5}`:                     "version",
		`{"version":"NaN"}`:                   "version",
		`{"version":[1]}`:                     "version",
		`{"containers":3}`:                    "containers",
		`{"containers":[{"exitCode":{}}]}`:    "containers.exitCode",
		`{"containers":[{"gpuIds":[{}]}]}`:    "containers.gpuIds",
		`{"containers":[{"gpuIds":{"a":1}}]}`: "containers.gpuIds",
	} {
		_, err := Parse(taskEvent(detail), Limits{})
		if !errors.Is(err, ErrDetail) || !strings.Contains(err.Error(), "member "+member+" ") {
			t.Errorf("%s: error %v does not name %s", detail, err, member)
		}
	}
}

func TestScalarsAreReadInAllTheirForms(t *testing.T) {
	at := time.Date(2026, 11, 30, 3, 12, 1, 0, time.UTC)
	for detail, want := range map[string]TaskState{
		`{"version":"7"}`:                             {Version: Int{7, true}},
		`{"version":-9223372036854775808}`:            {Version: Int{-1 << 63, true}},
		`{"version":9223372036854775807}`:             {Version: Int{1<<63 - 1, true}},
		`{"version":1e400}`:                           {Version: Int{1<<63 - 1, true}},
		`{"version":-1e400}`:                          {Version: Int{-1 << 63, true}},
		`{"version":3.0}`:                             {Version: Int{3, true}},
		`{"version":null}`:                            {},
		`{"version":""}`:                              {},
		`{"group":5}`:                                 {Group: "5"},
		`{"group":"a\u0041\n"}`:                       {Group: "aA\n"},
		`{"startedAt":"2026-11-30T03:12:01Z"}`:        {StartedAt: Time{at}},
		`{"startedAt":"2026-11-30T04:12:01+01:00"}`:   {StartedAt: Time{at}},
		fmt.Sprintf(`{"startedAt":%d}`, at.Unix()):    {StartedAt: Time{at}},
		fmt.Sprintf(`{"startedAt":%d000}`, at.Unix()): {StartedAt: Time{at}},
		`{"startedAt":"yesterday"}`:                   {},
	} {
		ev, err := Parse(taskEvent(detail), Limits{})
		if err != nil {
			t.Errorf("%s: %v", detail, err)
			continue
		}
		got := ev.Detail.(TaskState)
		if got.Version != want.Version || got.Group != want.Group || !got.StartedAt.Equal(want.StartedAt.Time) {
			t.Errorf("%s: read %+v", detail, got)
		}
	}
}

func TestLimitsCanBeSet(t *testing.T) {
	raw := taskEvent(`{"a":[1,2,3]}`)
	for _, l := range []Limits{{Bytes: 20}, {Elements: 2}} {
		if _, err := Parse(raw, l); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if _, err := Parse(raw, Limits{Nesting: 2}); !errors.Is(err, ErrMalformed) {
		t.Errorf("nesting: %v", err)
	}
}

func TestARNsAreTakenApart(t *testing.T) {
	for s, want := range map[string][4]string{
		"arn:aws:ecs:us-east-1:111122223333:task/gpu-prod/abc":               {"gpu-prod", "abc", "", ""},
		"arn:aws:ecs:us-east-1:111122223333:task/abc":                        {"", "abc", "", ""},
		"arn:aws-cn:ecs:cn-north-1:111122223333:container-instance/gpu/9f":   {"gpu", "", "9f", ""},
		"arn:aws:ecs:us-east-1:111122223333:container-instance/9f":           {"", "", "9f", ""},
		"arn:aws:ecs:us-east-1:111122223333:cluster/gpu-prod":                {"gpu-prod", "", "", ""},
		"arn:aws:ecs:us-east-1:111122223333:task-definition/chat:7":          {"", "", "", "chat:7"},
		"arn:aws:ecs:us-east-1:111122223333:task-definition/chat:0":          {"", "", "", ""},
		"arn:aws:ecs:us-east-1:111122223333:task-definition/chat:9999999999": {"", "", "", ""},
		"arn:aws:s3:::task/gpu-prod/abc":                                     {"", "", "", ""},
	} {
		a, err := ParseARN(s)
		if err != nil || a.String() != s {
			t.Errorf("%s: %v, written back %s", s, err, a)
		}
		definition := ""
		if f, r, ok := a.FamilyRevision(); ok {
			definition = fmt.Sprintf("%s:%d", f, r)
		}
		if got := [4]string{a.ClusterName(), a.TaskID(), a.ContainerInstanceID(), definition}; got != want {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
	for _, s := range []string{"", "arn:aws:ecs", "i-0a1b", "arn:aws:ecs:r:a:", "arn:aws:ecs:r:a:" + strings.Repeat("x", MaxARN)} {
		if _, err := ParseARN(s); !errors.Is(err, ErrARN) {
			t.Errorf("%.40q: %v", s, err)
		}
	}
}

func TestCarriersAreUnwrappedInOrder(t *testing.T) {
	a, b := `{"detail-type":"A","source":"s"}`, `{"detail-type":"B","source":"s"}`
	sns := fmt.Sprintf(`{"Type":"Notification","Message":%q}`, a)
	for name, c := range map[string]struct {
		raw  string
		want []string
	}{
		"an envelope":          {a, []string{a}},
		"a list":               {"[" + a + "," + b + "]", []string{a, b}},
		"one SQS message":      {fmt.Sprintf(`{"body":%q}`, a), []string{a}},
		"SQS records":          {fmt.Sprintf(`{"Records":[{"body":%q},{"body":%q}]}`, a, b), []string{a, b}},
		"a queue dump":         {fmt.Sprintf(`{"Messages":[{"Body":%q},{"Body":%q}]}`, b, a), []string{b, a}},
		"SNS in SQS":           {fmt.Sprintf(`{"Records":[{"body":%q}]}`, sns), []string{a}},
		"SNS to a function":    {fmt.Sprintf(`{"Records":[{"Sns":{"Message":%q}}]}`, a), []string{a}},
		"an event with a body": {`{"detail-type":"A","body":"x"}`, []string{`{"detail-type":"A","body":"x"}`}},
	} {
		var got []string
		for _, one := range Unwrap([]byte(c.raw)) {
			if one.Err != nil {
				t.Errorf("%s: %v", name, one.Err)
			}
			got = append(got, string(one.Body))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := Unwrap(make([]byte, MaxCarrier+1)); len(got) != 1 || !errors.Is(got[0].Err, ErrTooLarge) {
		t.Errorf("a carrier above the bound: %v", got)
	}
	deep := a
	for range 6 {
		deep = fmt.Sprintf(`{"body":%q}`, deep)
	}
	for _, raw := range []string{"", "  ", "x", `{"body":"x"}`, `{"Records":[{"body":"{"}]}`, deep} {
		if got := Unwrap([]byte(raw)); len(got) != 1 || !errors.Is(got[0].Err, ErrMalformed) {
			t.Errorf("%.40q: %v", raw, got)
		}
	}
}

func TestABrokenRecordTakesNoGoodOneWithIt(t *testing.T) {
	good := `{"detail-type":"A","source":"s"}`
	carried := Unwrap(fmt.Appendf(nil, `{"Records":[{"body":%q},{"body":"{bad"},{"body":%q},{"body":%q}]}`, good, "[null,7,"+good+"]", good))
	var got []string
	for _, c := range carried {
		if c.Err == nil {
			got = append(got, c.Place+" good")
		} else {
			got = append(got, c.Place+" "+c.Err.Error()[len(ErrMalformed.Error())+2:])
		}
	}
	want := []string{"record 1 good", "record 2 it is not whole JSON", "record 3, record 1 it is no JSON object",
		"record 3, record 2 it is no JSON object", "record 3, record 3 good", "record 4 good"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
