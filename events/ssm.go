package events

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// SSMCommand is the detail of Run Command's status changes, of the command as a
// whole (InstanceID empty) or of one instance. Best effort.
type SSMCommand struct {
	CommandID    Text       `json:"command-id"`
	DocumentName Text       `json:"document-name"`
	InstanceID   Text       `json:"instance-id"`
	Status       Text       `json:"status"`
	ExpireAfter  Time       `json:"expire-after"`
	RequestedAt  Time       `json:"requested-date-time"`
	Parameters   Parameters `json:"parameters"`
}

func (SSMCommand) isDetail() {}

// SSMAssociation is the detail of State Manager's association state changes.
type SSMAssociation struct {
	AssociationID Text `json:"association-id"`
	InstanceID    Text `json:"instance-id"`
	Status        Text `json:"status"`
	DocumentName  Text `json:"document-name"`
}

func (SSMAssociation) isDetail() {}

// Parameters reads the parameters of a command, which come as an object or as the
// same object in text, depending on their age.
type Parameters map[string]Texts

// UnmarshalJSON reads them.
func (p *Parameters) UnmarshalJSON(b []byte) error {
	*p = nil
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		if b = []byte(s); len(bytes.TrimSpace(b)) == 0 {
			return nil
		}
	}
	var m map[string]Texts
	if err := json.Unmarshal(b, &m); err != nil {
		return wrongType(b, reflect.TypeFor[Parameters]())
	}
	*p = m
	return nil
}
