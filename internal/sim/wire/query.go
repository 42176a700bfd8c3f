package wire

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// form is a request of the query protocol.
type form struct{ url.Values }

// list is a list of the form "Name.member.1", or "Name.1" of EC2, in order.
func (q form) list(prefix string) []string {
	var out []string
	for i := 1; q.Has(prefix + "." + strconv.Itoa(i)); i++ {
		out = append(out, q.Get(prefix+"."+strconv.Itoa(i)))
	}
	return out
}

func (q form) flag(name string) bool { return q.Get(name) == "true" }

// number is an integer, or otherwise when it is not given.
func (q form) number(name string, otherwise int) (int, error) {
	if !q.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil {
		return 0, validation("%s must be a number", name)
	}
	return n, nil
}

func validation(format string, args ...any) error {
	return &sim.Error{Code: "ValidationError", Message: fmt.Sprintf(format, args...)}
}

type queryOperation func(*sim.Fleet, form) (object, error)

// ec2Version tells EC2's requests from Auto Scaling's.
const ec2Version = "2016-11-15"

func (s *Server) serveQuery(w http.ResponseWriter, body []byte) {
	values, err := url.ParseQuery(string(body))
	if err != nil {
		writeXML(w, false, "", nil, validation("malformed form"))
		return
	}
	q, ec2 := form{values}, values.Get("Version") == ec2Version
	table, throttled := scalingOperations, "Throttling"
	if ec2 {
		table, throttled = ec2Operations, "RequestLimitExceeded"
	}
	name := q.Get("Action")
	do, ok := table[name]
	if !ok {
		writeXML(w, ec2, name, nil, &sim.Error{Code: "InvalidAction", Message: "the simulator does not know " + name})
		return
	}
	out, broken, err := s.call(name, throttled, string(body), func(f *sim.Fleet) (object, error) { return do(f, q) })
	if broken {
		panic(http.ErrAbortHandler) // as net/http asks, to break a connection off
	}
	writeXML(w, ec2, name, out, err)
}

// requestID is on every answer; nothing depends on it.
const requestID = "00000000-0000-4000-8000-000000000000"

func writeXML(w http.ResponseWriter, ec2 bool, name string, out object, err error) {
	w.Header().Set("Content-Type", "text/xml")
	var b bytes.Buffer
	var refused *sim.Error
	item, status := "member", http.StatusOK
	if ec2 {
		item = "item"
	}
	switch {
	case err == nil && ec2:
		element(&b, item, name+"Response", withID(out))
	case err == nil:
		element(&b, item, name+"Response", object{name + "Result": out, "ResponseMetadata": object{"RequestId": requestID}})
	default:
		status = http.StatusBadRequest
		if !errors.As(err, &refused) {
			status, refused = http.StatusInternalServerError, &sim.Error{Code: "InternalFailure", Message: err.Error()}
		}
		fault := object{"Code": refused.Code, "Message": refused.Message}
		if ec2 {
			element(&b, item, "Response", object{"Errors": object{"Error": fault}, "RequestID": requestID})
		} else {
			fault["Type"] = "Sender"
			element(&b, item, "ErrorResponse", object{"Error": fault, "RequestId": requestID})
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the caller went away: nothing to tell
}

func withID(out object) object {
	with := object{"requestId": requestID}
	maps.Copy(with, out)
	return with
}

// element writes a value as an XML element; what is nil is left out.
func element(b *bytes.Buffer, item, name string, v any) {
	if v == nil {
		return
	}
	b.WriteString("<" + name + ">")
	switch v := v.(type) {
	case object:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			element(b, item, k, v[k])
		}
	case []object:
		for _, x := range v {
			element(b, item, item, x)
		}
	case []string:
		for _, x := range v {
			element(b, item, item, x)
		}
	case time.Time:
		b.WriteString(v.UTC().Format("2006-01-02T15:04:05.000Z"))
	default:
		_ = xml.EscapeText(b, fmt.Append(nil, v)) // a buffer takes all
	}
	b.WriteString("</" + name + ">")
}

// cut is one page of a list, and the token of the next or nil.
func cut(all []object, q form, tokens, sizes string, most int) ([]object, any, error) {
	size, err := q.number(sizes, most)
	if err != nil || size < 1 || size > most {
		return nil, nil, validation("%s must be from 1 to %d", sizes, most)
	}
	from, err := q.number(tokens, 0)
	if err != nil || from < 0 || from > len(all) {
		return nil, nil, &sim.Error{Code: "InvalidNextToken", Message: "The token is not valid"}
	}
	to := min(from+size, len(all))
	if to == len(all) {
		return all[from:to], nil, nil
	}
	return all[from:to], strconv.Itoa(to), nil
}
