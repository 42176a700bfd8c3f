package dynamo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
)

// Partitions of cases: cases#CLUSTER holds one item a case, control#CLUSTER one item,
// decisions#CLUSTER the audit trail by time. They are told apart by their prefix, so
// that a permission can name them.
const (
	casePrefix     = "case#"
	caseEnd        = "case$"
	controlSK      = "control"
	decisionPrefix = "decision#"
	decisionEnd    = "decision$"
)

// decisionDays is how long the audit trail is kept.
const decisionDays = 400

func casesPK(cluster string) string     { return "cases#" + cluster }
func caseKey(cluster, id string) key    { return key{casesPK(cluster), casePrefix + id} }
func controlKey(cluster string) key     { return key{"control#" + cluster, controlSK} }
func decisionsPK(cluster string) string { return "decisions#" + cluster }
func decisionKey(cluster, id string) key {
	return key{decisionsPK(cluster), decisionPrefix + id}
}

// Cases implements remediate.Store.
func (s *Store) Cases(ctx context.Context, cluster string) ([]remediate.Record, error) {
	in := s.span(casesPK(cluster), casePrefix, caseEnd)
	in.ConsistentRead = aws.Bool(true)
	var out []remediate.Record
	for {
		page, err := s.api.Query(ctx, in)
		if err != nil {
			return nil, wrap(err, "list cases of %s", cluster)
		}
		for _, item := range page.Items {
			r, err := caseOf(item)
			if err != nil {
				return nil, err // a case that cannot be read may hold a place in a budget: nothing may be done
			}
			out = append(out, r)
		}
		if in.ExclusiveStartKey = page.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return out, nil
		}
	}
}

func caseOf(item map[string]types.AttributeValue) (remediate.Record, error) {
	var r remediate.Record
	if err := json.Unmarshal([]byte(textOf(item[attrJ])), &r); err != nil {
		return r, fmt.Errorf("case %s: %w", textOf(item[attrSK]), err)
	}
	var err error
	r.Case.Version, err = revisionOf(item)
	return r, err
}

func revisionOf(item map[string]types.AttributeValue) (int64, error) {
	n, ok := item[attrRev].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("item %s has no revision", textOf(item[attrSK]))
	}
	return strconv.ParseInt(n.Value, 10, 64)
}

// strong reads one item as it is now; not found is ledger.ErrNotFound.
func (s *Store) strong(ctx context.Context, k key) (map[string]types.AttributeValue, error) {
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: k.item(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, wrap(err, "read %s %s", k.pk, k.sk)
	}
	if out.Item == nil {
		return nil, fmt.Errorf("%s %s: %w", k.pk, k.sk, ledger.ErrNotFound)
	}
	return out.Item, nil
}

// Case implements remediate.Store.
func (s *Store) Case(ctx context.Context, cluster, id string) (remediate.Record, error) {
	item, err := s.strong(ctx, caseKey(cluster, id))
	if err != nil {
		return remediate.Record{}, err
	}
	return caseOf(item)
}

// SaveCase implements remediate.Store. Only a final case expires.
func (s *Store) SaveCase(ctx context.Context, r remediate.Record) (remediate.Record, error) {
	next := r
	next.Case.Version++
	item := caseKey(r.Cluster, r.Case.ID).item()
	if r.Case.State.Final() {
		item[attrTTL] = number(r.Kept.Add(remediate.KeepFor).Unix())
	}
	return next, s.fenced(ctx, item, r.Case.Version, next)
}

// Control implements remediate.Store.
func (s *Store) Control(ctx context.Context, cluster string) (remediate.Control, error) {
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: controlKey(cluster).item(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return remediate.Control{}, wrap(err, "read the control of %s", cluster)
	}
	c := remediate.Control{Cluster: cluster}
	if out.Item == nil {
		return c, nil
	}
	if err := json.Unmarshal([]byte(textOf(out.Item[attrJ])), &c); err != nil {
		return c, fmt.Errorf("control of %s: %w", cluster, err)
	}
	c.Revision, err = revisionOf(out.Item)
	return c, err
}

// SaveControl implements remediate.Store.
func (s *Store) SaveControl(ctx context.Context, c remediate.Control) (remediate.Control, error) {
	next := c
	next.Revision++
	return next, s.fenced(ctx, controlKey(c.Cluster).item(), c.Revision, next)
}

// fenced writes a small item when the stored revision is the one that was read.
func (s *Store) fenced(ctx context.Context, item map[string]types.AttributeValue, rev int64, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > maxItem {
		return fmt.Errorf("%s takes %d bytes: %w", textOf(item[attrSK]), len(b), ledger.ErrTooLarge)
	}
	item[attrRev], item[attrJ] = number(rev+1), text(string(b))
	in := &dynamodb.PutItemInput{TableName: &s.table, Item: item}
	condition(rev, &in.ConditionExpression, &in.ExpressionAttributeNames, &in.ExpressionAttributeValues)
	_, err = s.api.PutItem(ctx, in)
	return wrap(err, "write %s %s at revision %d", textOf(item[attrPK]), textOf(item[attrSK]), rev)
}

// NoteDecision implements remediate.Store.
func (s *Store) NoteDecision(ctx context.Context, d remediate.Decision) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	item := decisionKey(d.Cluster, d.ID).item()
	item[attrJ], item[attrTTL] = text(string(b)), number(d.At.Add(decisionDays*24*time.Hour).Unix())
	return s.put(ctx, item, "note decision %s", d.ID)
}

// Decision implements remediate.Store.
func (s *Store) Decision(ctx context.Context, cluster, id string) (remediate.Decision, error) {
	item, err := s.strong(ctx, decisionKey(cluster, id))
	if err != nil {
		return remediate.Decision{}, err
	}
	return decisionOf(item)
}

func decisionOf(item map[string]types.AttributeValue) (remediate.Decision, error) {
	var d remediate.Decision
	if err := json.Unmarshal([]byte(textOf(item[attrJ])), &d); err != nil {
		return d, fmt.Errorf("decision %s: %w", textOf(item[attrSK]), err)
	}
	return d, nil
}

// Decisions implements remediate.Store. It reads from the newest, so a cursor bounds
// the range from above.
func (s *Store) Decisions(ctx context.Context, cluster string, after ledger.Cursor, limit int) ([]remediate.Decision, ledger.Cursor, error) {
	to := decisionEnd
	if after != "" {
		b, err := base64.RawURLEncoding.DecodeString(string(after))
		sk, ok := strings.CutPrefix(string(b), "d1:")
		if err != nil || !ok || !strings.HasPrefix(sk, decisionPrefix) {
			return nil, "", ledger.ErrCursor
		}
		to = sk
	}
	in := s.span(decisionsPK(cluster), decisionPrefix, to)
	in.ScanIndexForward = aws.Bool(false)
	if limit <= 0 {
		limit = 200
	}
	limit = min(limit, 1000)
	in.Limit = aws.Int32(int32(limit + 2)) // the element that the cursor names, and one that tells of more
	page, err := s.api.Query(ctx, in)
	if err != nil {
		return nil, "", wrap(err, "list decisions of %s", cluster)
	}
	var out []remediate.Decision
	for _, item := range page.Items {
		if textOf(item[attrSK]) == to {
			continue
		}
		if len(out) == limit {
			return out, cursor(map[string]types.AttributeValue{attrSK: text(decisionPrefix + out[len(out)-1].ID)}), nil
		}
		d, err := decisionOf(item)
		if err != nil {
			return nil, "", err
		}
		out = append(out, d)
	}
	if page.LastEvaluatedKey != nil && len(out) > 0 { // a page of 1 MB ended first
		return out, cursor(map[string]types.AttributeValue{attrSK: text(decisionPrefix + out[len(out)-1].ID)}), nil
	}
	return out, "", nil
}

var _ remediate.Store = (*Store)(nil)
