package replay

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// read tells what eachLine gives, one word a document: its line and text, or its fault.
func read(t *testing.T, in string) string {
	t.Helper()
	var out []string
	if err := eachLine(strings.NewReader(in), func(n int, doc []byte, broken error) error {
		if broken == nil {
			out = append(out, fmt.Sprintf("%d:%s", n, bytes.Join(bytes.Fields(doc), nil)))
		} else {
			out = append(out, fmt.Sprintf("%d!", n))
		}
		return nil
	}); err != nil {
		return err.Error()
	}
	return strings.Join(out, " ")
}

func TestEachDocumentIsReadAndABrokenOneTakesNothingWithIt(t *testing.T) {
	for name, c := range map[string][2]string{
		"one a line":                     {"{\"a\":1}\n\n{\"b\":2}\r\n", `1:{"a":1} 3:{"b":2}`},
		"a byte order mark":              {"\xef\xbb\xbf{\"a\":1}", `1:{"a":1}`},
		"UTF-16":                         {"\xff\xfe{\x00", errUTF16.Error()},
		"one spread over lines":          {"{\n  \"a\": 1\n}\n", `1:{"a":1}`},
		"several spread over lines":      {"{\n\"a\":1\n}\n{\n\"b\":2\n}\n{\"c\":3}", `1:{"a":1} 4:{"b":2} 7:{"c":3}`},
		"a list spread over lines":       {"[\n{\"a\":1},\n{\"b\":2}\n]", `1:[{"a":1},{"b":2}]`},
		"several on one line":            {`{"a":1}{"b":2} {"c":3}`, `1:{"a":1} 1:{"b":2} 1:{"c":3}`},
		"garbage behind a document":      {"{\"a\":1}garbage\n{\"b\":2}", `1:{"a":1} 1! 2:{"b":2}`},
		"the first line cut off":         {"{\n{\"a\":1}\n{\"b\":2}", `1! 2:{"a":1} 3:{"b":2}`},
		"cut off inside a text":          {"{\"a\":\"x\n{\"b\":2}", `1! 2:{"b":2}`},
		"cut off before a value":         {"{\"a\":\n{\"b\":2}\n{\"c\":3}", `1! 2:{"b":2} 3:{"c":3}`},
		"cut off in a list":              {"{\"a\":[\n{\"b\":2}\n{\"c\":3}", `1! 2:{"b":2} 3:{"c":3}`},
		"the last line cut off":          {"{\"a\":1}\n{\"b\":", `1:{"a":1} 2!`},
		"numbers of a list on two lines": {"[1,\n2]", `1:[1,2]`},
		"nothing":                        {" \n\n", ""},
	} {
		if got := read(t, c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", name, got, c[1])
		}
	}
	long := "{\"a\":\n" + strings.Repeat("x", MaxLine+1) + "\n{\"b\":2}"
	if got := read(t, long); got != `1! 2! 3:{"b":2}` {
		t.Errorf("a line too long behind one cut off: %.80s", got)
	}
	endless := "{\"a\":[\n" + strings.Repeat("{\"x\":\""+strings.Repeat("y", 64<<10)+"\"},\n", 150) + "{\"b\":2}\n{\"c\":3}"
	if got := read(t, endless); !strings.HasSuffix(got, `152:{"b":2} 153:{"c":3}`) || !strings.HasPrefix(got, "1! 2:{") {
		t.Errorf("a document that never ends swallows what is behind it: %.60s … %s", got, got[len(got)-60:])
	}
}

// A file of opening brackets must not cost the square of its lines.
func TestAHostileFileIsReadInTimeLinearInItsSize(t *testing.T) {
	start := time.Now()
	n := 0
	if err := eachLine(strings.NewReader(strings.Repeat("[\n", 200_000)), func(int, []byte, error) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	if n != 200_000 {
		t.Errorf("%d lines named", n)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}
