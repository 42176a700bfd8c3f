package remedy

import (
	"fmt"
	"strconv"
	"strings"
)

// Names of the Systems Manager documents in infra/ssm.
const (
	DocumentMPSRestart       = "Bulkhead-MpsRestart"
	DocumentTerminateClients = "Bulkhead-TerminateClients"
	DocumentEvidence         = "Bulkhead-Evidence"
	DocumentInstallAgent     = "Bulkhead-InstallAgent"
)

// maxPIDs is how many clients one command may name; an MPS server has no more
// than 60 on a card.
const maxPIDs = 64

// Command is a step as Run Command takes it: parameters are strings that the
// document's patterns admit.
type Command struct {
	Document   string
	Parameters map[string]string
	Comment    string // the step's key, bounded: search by it before sending again
}

// maxComment is Run Command's own bound.
const maxComment = 100

// CommandOf returns the command of a step, or false for a step that is none. The
// bucket and prefix are where evidence goes.
func CommandOf(s Step, bucket, prefix string) (Command, bool) {
	c := Command{Parameters: map[string]string{"CaseId": s.Case}, Comment: s.Comment()}
	switch s.Kind {
	case StepRestartMPS:
		c.Document = DocumentMPSRestart
		c.Parameters["BootId"] = s.Guard.Boot
		c.Parameters["WithClients"] = strconv.FormatBool(s.WithClients)
	case StepTerminateClients:
		if len(s.PIDs) == 0 || len(s.PIDs) > maxPIDs {
			return Command{}, false
		}
		pids := make([]string, len(s.PIDs))
		for i, pid := range s.PIDs {
			pids[i] = strconv.Itoa(pid)
		}
		c.Document = DocumentTerminateClients
		c.Parameters["BootId"] = s.Guard.Boot
		c.Parameters["TaskArn"] = s.Target
		c.Parameters["Pids"] = strings.Join(pids, ",")
	case StepEvidence:
		c.Document = DocumentEvidence
		c.Parameters["Bucket"], c.Parameters["Prefix"] = bucket, prefix
	default:
		return Command{}, false
	}
	return c, true
}

// Comment is the step's key cut to what Run Command takes as a comment. The end
// of a key tells its round and target, so the middle goes.
func (s Step) Comment() string {
	if len(s.Key) <= maxComment {
		return s.Key
	}
	sum := uint64(14695981039346656037) // FNV-1a: the whole key stays told apart
	for _, b := range []byte(s.Key) {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return fmt.Sprintf("%s~%016x", s.Key[:maxComment-17], sum)
}
