package sim

import "fmt"

// Error is a refusal as an AWS API words it: Code is its error code. Unplaced marks a
// task that found no host: then Code is the reason of the failure, as RESOURCE:GPU.
type Error struct {
	Code, Message string
	Unplaced      bool
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
