package mps

import (
	"strconv"
	"strings"
	"time"
)

// AnswerKind tells how a question to the control daemon ended.
type AnswerKind string

// The kinds of answer.
const (
	AnswerOK         AnswerKind = "ok"
	AnswerNoSocket   AnswerKind = "no-socket"   // nothing to connect to in the pipe directory
	AnswerNotRunning AnswerKind = "not-running" // the tool found no daemon behind the socket
	AnswerNone       AnswerKind = "no-answer"   // nothing before the deadline
	AnswerRefused    AnswerKind = "refused"     // it answered no
	AnswerUnknown    AnswerKind = "unknown-command"
	AnswerNotFound   AnswerKind = "not-found" // no such server or client
	AnswerNoTool     AnswerKind = "no-tool"   // the control tool could not be run
)

// Answer is what came of one command.
type Answer struct {
	Kind AnswerKind
	Text string // bounded; without the last newline
	Cut  bool   // the tool said more than was read
	Took time.Duration
}

// Texts of the control tool of release 535, tried; it exits 0 for all but the
// first, so only they can be judged.
const (
	textNoDaemon = "Cannot find MPS control daemon process"
	textUnknown  = "Unknown command"
	textInvalid  = "Invalid "
	textNotFound = "not found"
)

// Judge tells what the tool's text means. An empty text is a good answer: lists
// are empty before the first client comes.
func Judge(text string) AnswerKind {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(line, textNoDaemon):
			return AnswerNotRunning
		case strings.HasPrefix(line, textUnknown):
			return AnswerUnknown
		case strings.HasPrefix(line, "Server") && strings.Contains(line, textNotFound),
			strings.HasPrefix(line, "Client") && strings.Contains(line, textNotFound):
			return AnswerNotFound
		case strings.HasPrefix(line, textInvalid), strings.Contains(line, "ermission denied"), strings.HasPrefix(line, "Failed"):
			return AnswerRefused
		}
	}
	return AnswerOK
}

// Percentage reads the answer to get_ and set_default_active_thread_percentage:
// its last line. The tool answers a refused set with the value that stands.
func (a Answer) Percentage() (float64, bool) {
	lines := strings.Fields(a.Text)
	if a.Kind != AnswerOK || len(lines) == 0 {
		return 0, false
	}
	p, err := strconv.ParseFloat(lines[len(lines)-1], 64)
	return p, err == nil && p > 0 && p <= 100
}

// PIDs reads one process id a line, at most limit of them. Lines that are no
// process id are counted in odd.
func (a Answer) PIDs(limit int) (pids []int, odd int) {
	for line := range strings.Lines(a.Text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		n, err := strconv.Atoi(line)
		if err != nil || n <= 0 || len(pids) >= limit {
			odd++
			continue
		}
		pids = append(pids, n)
	}
	return pids, odd
}

// ServerStatus reads the answer to get_server_status: the word alone, or after
// other text. Release 535 does not know the command, and the status is "".
func (a Answer) ServerStatus() ServerStatus {
	if a.Kind != AnswerOK {
		return ""
	}
	for _, w := range strings.FieldsFunc(strings.ToUpper(a.Text), func(r rune) bool { return r < 'A' || r > 'Z' }) {
		switch s := ServerStatus(w); s {
		case StatusActive, StatusFault, StatusInitializing, StatusPending, StatusInactive:
			return s
		}
	}
	return ""
}

// ServerStatus is the daemon's own word for a server.
type ServerStatus string

// Words of get_server_status; the first two are the vendor's, the others are
// expected by programs that read it.
const (
	StatusActive       ServerStatus = "ACTIVE"
	StatusFault        ServerStatus = "FAULT"
	StatusInitializing ServerStatus = "INITIALIZING"
	StatusPending      ServerStatus = "PENDING"
	StatusInactive     ServerStatus = "INACTIVE"
)

// Client is one row of the daemon's ps table.
type Client struct {
	PID, Server int
	Device      string // a prefix of the GPU's UUID
	Command     string
}

// Clients reads the answer to ps: PID, ID, SERVER, DEVICE, NAMESPACE, COMMAND.
// Rows that do not fit are skipped: the command is chosen by the tenant.
func (a Answer) Clients(limit int) []Client {
	var out []Client
	for line := range strings.Lines(a.Text) {
		f := strings.Fields(line)
		if len(f) < 5 || len(out) >= limit {
			continue
		}
		pid, err1 := strconv.Atoi(f[0])
		server, err2 := strconv.Atoi(f[2])
		if err1 != nil || err2 != nil || pid <= 0 || server <= 0 {
			continue
		}
		out = append(out, Client{PID: pid, Server: server, Device: f[3], Command: strings.Join(f[5:], " ")})
	}
	return out
}
