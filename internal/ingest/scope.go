package ingest

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is which events are believed. Empty lists believe any.
type Scope struct {
	Accounts []string
	Regions  []string
	Clusters []string // names or ARNs; events of others are ignored, not rejected
}

// foreign says why an event of this account and Region is not believed. arns are
// the resources that it speaks of; those that are empty, or named in a short form,
// are not judged. An envelope that speaks for another account or Region than its
// own resources is forged, or a mistake.
func (s Scope) foreign(account, region string, arns ...string) error {
	if err := s.believes(account, region); err != nil {
		return err
	}
	for _, arn := range arns {
		if !strings.HasPrefix(arn, "arn:") {
			continue
		}
		a, r, err := ownerOf(arn)
		if err != nil {
			return err
		}
		if account != "" && a != account || region != "" && r != region {
			return rejected{RejectedForeign, fmt.Sprintf("an event of account %q, Region %q speaks of %s", Bounded(account, 20), Bounded(region, 32), Bounded(arn, 120))}
		}
	}
	return nil
}

func (s Scope) believes(account, region string) error {
	if len(s.Accounts) > 0 && !slices.Contains(s.Accounts, account) {
		return rejected{RejectedForeign, fmt.Sprintf("account %q is not one of %s", Bounded(account, 20), strings.Join(s.Accounts, ", "))}
	}
	if len(s.Regions) > 0 && !slices.Contains(s.Regions, region) {
		return rejected{RejectedForeign, fmt.Sprintf("Region %q is not one of %s", Bounded(region, 32), strings.Join(s.Regions, ", "))}
	}
	return nil
}

// ForeignARN says why a described resource is not believed: it is no ARN, or one of
// an account or Region that is not watched.
func (s Scope) ForeignARN(arn string) error {
	account, region, err := ownerOf(arn)
	if err != nil {
		return err
	}
	return s.believes(account, region)
}

// ownerOf reads the account and Region of an ARN.
func ownerOf(arn string) (account, region string, err error) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 || parts[0] != "arn" {
		return "", "", rejected{RejectedIdentity, fmt.Sprintf("%q is no ARN", Bounded(arn, 80))}
	}
	return parts[4], parts[3], nil
}

func (s Scope) watches(cluster string) bool {
	if len(s.Clusters) == 0 {
		return true
	}
	name := cluster[strings.LastIndexByte(cluster, '/')+1:]
	return slices.Contains(s.Clusters, cluster) || slices.Contains(s.Clusters, name)
}

// clusterARN makes the ARN of a cluster that an event named in short form.
func clusterARN(cluster, instance string) string {
	if strings.HasPrefix(cluster, "arn:") {
		return cluster
	}
	if head, _, ok := strings.Cut(instance, ":container-instance/"); ok && cluster != "" {
		return head + ":cluster/" + cluster
	}
	return cluster
}
