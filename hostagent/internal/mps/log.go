package mps

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// LogKind is what a line of control.log or server.log says.
type LogKind uint8

// The lines that mean something here; all others are LogOther.
const (
	LogOther          LogKind = iota
	LogDaemonStart            // "Starting control daemon using socket …"
	LogServerStart            // "Starting new server <pid> for user <uid>"
	LogServerReady            // "NEW SERVER <pid>: Ready"
	LogServerExit             // "Server <pid> exited with status <n>"
	LogClientNew              // "NEW CLIENT <pid> from user <uid>…"
	LogClientPending          // "Server is not ready, push client to pending list"
	LogFatal                  // "Server encountered a fatal exception. Shutting down"
	LogFault                  // "Server is handling a fatal GPU error"
	LogClientActive           // "status of client {pid, ctx} is ACTIVE"
	LogClientInactive         // "status of client {pid, ctx} is INACTIVE"
	LogDevicesHead            // "The following devices…": bare numbers follow
	LogStickyHead             // "The following clients have a sticky error set": bare PIDs follow
	LogNumber                 // a bare number, a row of the list above
	LogClientExit             // "Client {pid, ctx} exit"
	LogContextDestroy         // "Destroy server context on device n"
	LogContextCreate          // "Creating server context on device n"
	LogSharedMemory           // "MPS Server failed to create/open SHM segment": descriptors are used up
	LogStartFailed            // "Failed to start : invalid argument": a card that cannot be shared
	LogCulprit                // a line within a fault that names one client as its cause
)

// LogEvent is one line understood.
type LogEvent struct {
	At     time.Time
	Kind   LogKind
	Writer int // process id in the prefix: the daemon or a server
	PID    int // process named by the text
	Status int // exit status, device or other number
}

var (
	logPrefix = regexp.MustCompile(`^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) (?:Control|Server|Other) +(\d{1,9})\] (.*)$`)
	logShapes = []struct {
		kind LogKind
		key  string // must be in the text: the regexp runs on few lines
		re   *regexp.Regexp
	}{
		{LogDaemonStart, "Starting control daemon", regexp.MustCompile(`^Starting control daemon using socket `)},
		{LogServerStart, "Starting new server", regexp.MustCompile(`^Starting new server (?P<pid>\d{1,9}) for user \d+`)},
		{LogServerReady, "NEW SERVER", regexp.MustCompile(`^NEW SERVER (?P<pid>\d{1,9}): Ready`)},
		{LogServerExit, "exited with status", regexp.MustCompile(`^Server (?P<pid>\d{1,9}) exited with status (?P<n>-?\d{1,6})`)},
		{LogClientNew, "NEW CLIENT", regexp.MustCompile(`^NEW CLIENT (?P<pid>\d{1,9}) from user \d+`)},
		{LogClientPending, "pending list", regexp.MustCompile(`^Server is not ready, push client to pending list`)},
		{LogFatal, "fatal exception", regexp.MustCompile(`Server encountered a fatal exception`)},
		{LogFault, "fatal GPU error", regexp.MustCompile(`Server is handling a fatal GPU error`)},
		{LogClientInactive, "is INACTIVE", regexp.MustCompile(`status of client \{(?P<pid>\d{1,9}), ?\d+\} is INACTIVE`)},
		{LogClientActive, "is ACTIVE", regexp.MustCompile(`status of client \{(?P<pid>\d{1,9}), ?\d+\} is ACTIVE`)},
		{LogDevicesHead, "following devices", regexp.MustCompile(`The following devices`)},
		{LogStickyHead, "sticky error", regexp.MustCompile(`The following clients have a sticky error set`)},
		{LogClientExit, "} exit", regexp.MustCompile(`Client \{(?P<pid>\d{1,9}), ?\d+\} exit`)},
		{LogContextDestroy, "Destroy server context", regexp.MustCompile(`Destroy server context on device (?P<n>\d{1,3})`)},
		{LogContextCreate, "Creating server context", regexp.MustCompile(`Creating server context on device (?P<n>\d{1,3})`)},
		{LogSharedMemory, "SHM segment", regexp.MustCompile(`MPS Server failed to create/open SHM segment`)},
		{LogStartFailed, "Failed to start", regexp.MustCompile(`^Failed to start ?: `)},
		// The vendor says that the log names the client behind a memory fault and not in
		// which words: a line that speaks of a fault and of one client is taken.
		{LogCulprit, "lient", regexp.MustCompile(`(?i)(?:fault|trigger|caus).*client[ :]*(?:process |pid |with pid )*\{?(?P<pid>\d{1,9})`)},
		{LogNumber, "", regexp.MustCompile(`^(?:Volta MPS: ?)?(?P<pid>\d{1,9})$`)},
	}
)

// MaxLogLine is how much of a line is read.
const MaxLogLine = 1024

// ParseLog reads one line; zone is the host's, since the log does not say it. A
// line without the daemon's prefix is not the daemon's: ok is false.
func ParseLog(line string, zone *time.Location) (e LogEvent, ok bool) {
	if len(line) > MaxLogLine {
		line = line[:MaxLogLine]
	}
	m := logPrefix.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if m == nil {
		return LogEvent{}, false
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05.000", m[1], zone)
	if err != nil {
		return LogEvent{}, false
	}
	e.At = at.UTC()
	e.Writer, _ = strconv.Atoi(m[2])
	text := strings.TrimSpace(m[3])
	for _, s := range logShapes {
		if !strings.Contains(text, s.key) {
			continue
		}
		g := s.re.FindStringSubmatch(text)
		if g == nil {
			continue
		}
		e.Kind = s.kind
		for i, name := range s.re.SubexpNames() {
			n, _ := strconv.Atoi(g[i])
			switch name {
			case "pid":
				e.PID = n
			case "n":
				e.Status = n
			}
		}
		return e, true
	}
	return e, true
}
