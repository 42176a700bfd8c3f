package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// args are a verb's: its first word, its key=value pairs in order, and the rest.
type args struct {
	name  string
	keys  []string
	pairs map[string]string
	rest  []string
}

func parse(words []string) args {
	a := args{pairs: map[string]string{}}
	for i, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			a.keys = append(a.keys, k)
			a.pairs[k] = v
		} else if i == 0 {
			a.name = w
		} else {
			a.rest = append(a.rest, w)
		}
	}
	return a
}

func (a args) value(k string) string  { return a.pairs[k] }
func (a args) number(k string) int64  { return atoi(a.pairs[k]) }
func (a args) list(k string) []string { return strings.Split(a.pairs[k], ",") }

func atoi(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// verbs are the words that scripts may use.
var verbs = map[string]func(*world, args) error{
	"register": register, "status": status, "deregister": deregister, "terminate": terminate, "spot": spot,
	"define": define, "place": place, "runs": runs, "stop": stop, "stopped": stopped, "forget": forget,
	"wait": wait, "lose": lose, "again": again, "sweep": sweep, "reserve": reserve, "rule": rule, "ledger": showLedger,
	"fail": fail, "hold": hold, "retry": retry, "contradict": contradict, "hide": hide,
}

// play plays the lines of one step and returns what was said meanwhile.
func play(w *world, script string) string {
	w.out.Reset()
	for n, line := range strings.Split(script, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		verb, ok := verbs[words[0]]
		if !ok {
			fmt.Fprintf(&w.out, "line %d: no verb %q\n", n+1, words[0])
			continue
		}
		if err := verb(w, parse(words[1:])); err != nil {
			fmt.Fprintf(&w.out, "line %d: %v\n", n+1, err)
		}
	}
	return w.out.String()
}
