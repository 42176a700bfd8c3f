package wire

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

var ssmOperations = map[string]operation{
	"SendCommand": answer(sendCommand), "GetCommandInvocation": answer(getInvocation), "ListCommandInvocations": answer(listInvocations),
	"ListCommands": answer(listCommands), "CancelCommand": answer(cancelCommand), "DescribeInstanceInformation": answer(instanceInformation),
}

type commandInput struct {
	DocumentName, Comment string
	InstanceIDs           []string `json:"InstanceIds"`
	Parameters            map[string][]string
	TimeoutSeconds        int

	CommandID  string `json:"CommandId"`
	InstanceID string `json:"InstanceId"`
	Details    bool
	Filters    []struct{ Key, Value string }
	NextToken  string
	MaxResults int
}

func sendCommand(f *sim.Fleet, in commandInput) (object, error) {
	c, err := f.Send(sim.Request{Document: in.DocumentName, Comment: in.Comment, Instances: in.InstanceIDs, Parameters: in.Parameters, Timeout: time.Duration(in.TimeoutSeconds) * time.Second})
	if err != nil {
		return nil, err
	}
	return object{"Command": commandObject(c)}, nil
}

func commandObject(c *sim.Command) object {
	done, failed := 0, 0
	for _, n := range c.Invocations {
		if n.Status != "Pending" && n.Status != "InProgress" {
			done++
		}
		if n.Status == "Failed" || n.Status == "TimedOut" {
			failed++
		}
	}
	return object{"CommandId": c.ID, "DocumentName": c.Document, "Comment": c.Comment, "InstanceIds": c.Instances, "Parameters": c.Parameters, "Status": c.Status, "StatusDetails": c.Status,
		"RequestedDateTime": seconds(c.Requested), "ExpiresAfter": seconds(c.Expires), "TargetCount": len(c.Invocations), "CompletedCount": done, "ErrorCount": failed,
		"TimeoutSeconds": int(c.Timeout.Seconds())}
}

func getInvocation(f *sim.Fleet, in commandInput) (object, error) {
	c, err := f.Command(in.CommandID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.Invocations, func(n *sim.Invocation) bool { return n.Instance == in.InstanceID })
	if i < 0 {
		return nil, &sim.Error{Code: "InvocationDoesNotExist", Message: "The command id and instance id do not match any invocation."}
	}
	n := c.Invocations[i]
	out := object{"CommandId": c.ID, "InstanceId": n.Instance, "Comment": c.Comment, "DocumentName": c.Document, "Status": n.Status, "StatusDetails": n.Details,
		"ResponseCode": code(n), "StandardOutputContent": n.Answer.Out, "StandardErrorContent": n.Answer.Err}
	if !n.Started.IsZero() {
		out["ExecutionStartDateTime"] = n.Started.UTC().Format(time.RFC3339)
	}
	if !n.Stopped.IsZero() {
		out["ExecutionEndDateTime"] = n.Stopped.UTC().Format(time.RFC3339)
	}
	return out, nil
}

// code is the exit code of an invocation; -1 while there is none.
func code(n *sim.Invocation) int {
	if n.Status == "Success" || n.Status == "Failed" {
		return n.Answer.Code
	}
	return -1
}

// commandFilter reads the filters of the list calls.
func commandFilter(in commandInput) (func(c *sim.Command, status string) bool, error) {
	var tests []func(*sim.Command, string) bool
	for _, k := range in.Filters {
		switch k.Key {
		case "InvokedAfter", "InvokedBefore":
			at, err := time.Parse(time.RFC3339, k.Value)
			if err != nil {
				return nil, &sim.Error{Code: "ValidationException", Message: fmt.Sprintf("%s is not a time: %q", k.Key, k.Value)}
			}
			after := k.Key == "InvokedAfter"
			tests = append(tests, func(c *sim.Command, _ string) bool { return c.Requested.Before(at) != after })
		case "Status":
			tests = append(tests, func(_ *sim.Command, status string) bool { return status == k.Value })
		case "DocumentName":
			tests = append(tests, func(c *sim.Command, _ string) bool { return c.Document == k.Value })
		default:
			return nil, &sim.Error{Code: "InvalidFilterKey", Message: "The filter key " + k.Key + " is not valid"}
		}
	}
	if in.CommandID != "" {
		tests = append(tests, func(c *sim.Command, _ string) bool { return c.ID == in.CommandID })
	}
	return func(c *sim.Command, status string) bool {
		return !slices.ContainsFunc(tests, func(t func(*sim.Command, string) bool) bool { return !t(c, status) })
	}, nil
}

// ssmPage cuts a list as SSM's list calls do: 50 at most.
func ssmPage(all []object, key string, in commandInput) (object, error) {
	size, from := in.MaxResults, 0
	if size == 0 {
		size = 50
	}
	if in.NextToken != "" {
		n, err := strconv.Atoi(in.NextToken)
		if err != nil || n < 0 || n > len(all) {
			return nil, &sim.Error{Code: "InvalidNextToken", Message: "The specified token is not valid."}
		}
		from = n
	}
	if size < 1 || size > 50 {
		return nil, &sim.Error{Code: "ValidationException", Message: "MaxResults must be from 1 to 50"}
	}
	to := min(from+size, len(all))
	out := object{key: all[from:to]}
	if to < len(all) {
		out["NextToken"] = strconv.Itoa(to)
	}
	return out, nil
}

// listInvocations lists newest first.
func listInvocations(f *sim.Fleet, in commandInput) (object, error) {
	admits, err := commandFilter(in)
	if err != nil {
		return nil, err
	}
	all := []object{}
	for _, c := range slices.Backward(f.Commands()) {
		for _, n := range c.Invocations {
			if !admits(c, n.Status) || in.InstanceID != "" && in.InstanceID != n.Instance {
				continue
			}
			out := object{"CommandId": c.ID, "InstanceId": n.Instance, "Comment": c.Comment, "DocumentName": c.Document, "RequestedDateTime": seconds(c.Requested), "Status": n.Status, "StatusDetails": n.Details}
			if in.Details {
				out["CommandPlugins"] = []object{{"Name": "aws:runShellScript", "Status": n.Status, "StatusDetails": n.Details, "ResponseCode": code(n), "Output": n.Answer.Out + n.Answer.Err}}
			}
			all = append(all, out)
		}
	}
	return ssmPage(all, "CommandInvocations", in)
}

func listCommands(f *sim.Fleet, in commandInput) (object, error) {
	admits, err := commandFilter(in)
	if err != nil {
		return nil, err
	}
	all := []object{}
	for _, c := range slices.Backward(f.Commands()) {
		if admits(c, c.Status) && (in.InstanceID == "" || slices.Contains(c.Instances, in.InstanceID)) {
			all = append(all, commandObject(c))
		}
	}
	return ssmPage(all, "Commands", in)
}

func cancelCommand(f *sim.Fleet, in commandInput) (object, error) {
	return object{}, f.Cancel(in.CommandID)
}

type informationInput struct {
	Filters []struct {
		Key    string
		Values []string
	}
	NextToken  string
	MaxResults int
}

func instanceInformation(f *sim.Fleet, in informationInput) (object, error) {
	all := []object{}
	for _, h := range f.Instances() {
		if h.Boot == "" || h.EC2State == "terminated" {
			continue
		}
		if slices.ContainsFunc(in.Filters, func(k struct {
			Key    string
			Values []string
		}) bool {
			return k.Key == "InstanceIds" && !slices.Contains(k.Values, h.EC2)
		}) {
			continue
		}
		ping := "Online"
		if !h.Reachable() {
			ping = "ConnectionLost"
		}
		all = append(all, object{"InstanceId": h.EC2, "PingStatus": ping, "PlatformType": "Linux", "ResourceType": "EC2Instance", "RegistrationDate": seconds(h.Registered)})
	}
	return ssmPage(all, "InstanceInformationList", commandInput{NextToken: in.NextToken, MaxResults: in.MaxResults})
}
