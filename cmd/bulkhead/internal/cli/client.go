package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

const defaultEndpoint = "http://127.0.0.1:8780"

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// client asks the query API. Requests to another machine are signed with the
// caller's AWS credentials, since the API behind API Gateway asks for IAM.
type client struct {
	base   string
	http   *http.Client
	region string
	creds  aws.CredentialsProvider // nil: not signed
}

func (g *globals) address() string {
	for _, a := range []string{g.endpoint, g.streams.Env("BULKHEAD_ENDPOINT"), defaultEndpoint} {
		if a != "" {
			return strings.TrimRight(a, "/")
		}
	}
	return defaultEndpoint
}

func (g *globals) client(ctx context.Context) (*client, error) {
	base := g.address()
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, useError("--endpoint %q is no address: give one like https://abc.execute-api.us-east-1.amazonaws.com", base)
	}
	c := &client{base: base, http: &http.Client{Timeout: 30 * time.Second}}
	if onLoopback(u.Hostname()) {
		return c, nil
	}
	var opts []func(*config.LoadOptions) error
	if g.region != "" {
		opts = append(opts, config.WithRegion(g.region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return nil, exitError{ExitAPI, fmt.Errorf("the AWS configuration cannot be read: %w", err)}
	}
	if cfg.Region == "" {
		return nil, useError("no Region to sign for: give --region, or set AWS_REGION")
	}
	c.region, c.creds = cfg.Region, cfg.Credentials
	return c, nil
}

func onLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// get asks for a document.
func (c *client) get(ctx context.Context, path string, q url.Values, into any) error {
	address := c.base + path
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	if err := c.sign(ctx, req); err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return exitError{ExitAPI, c.unreachable(err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return exitError{ExitAPI, fmt.Errorf("the answer of %s broke off: %w", c.base, err)}
	}
	if resp.StatusCode != http.StatusOK {
		return exitError{ExitAPI, sentence(resp, body)}
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(into); err != nil {
		return exitError{ExitAPI, fmt.Errorf("%s does not answer like Bulkhead: %w", c.base, err)}
	}
	return nil
}

func (c *client) sign(ctx context.Context, req *http.Request) error {
	if c.creds == nil {
		return nil
	}
	creds, err := c.creds.Retrieve(ctx)
	if err != nil {
		return exitError{ExitAPI, fmt.Errorf("no AWS credentials to sign with (run `aws sso login`, or set a profile): %w", err)}
	}
	empty := sha256.Sum256(nil)
	return v4.NewSigner().SignHTTP(ctx, creds, req, hex.EncodeToString(empty[:]), "execute-api", c.region, time.Now())
}

func (c *client) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("stopped")
	}
	return fmt.Errorf("nothing answers at %s: start `bulkhead local`, or give --endpoint (%w)", c.base, err)
}

// sentence is what a person reads of an error answer.
func sentence(resp *http.Response, body []byte) error {
	var p httpapi.Problem
	if json.Unmarshal(body, &p) == nil && p.Detail != "" {
		text := p.Detail
		if len(p.DidYouMean) > 0 {
			text += " Did you mean " + strings.Join(p.DidYouMean, ", ") + "?"
		}
		return errors.New(text)
	}
	if resp.StatusCode == http.StatusForbidden {
		return fmt.Errorf("%s refuses these credentials (403): they need execute-api:Invoke on the API, and a clock that is right", resp.Request.URL.Host)
	}
	return fmt.Errorf("%s answers %s", resp.Request.URL.Host, resp.Status)
}

type clusterList struct {
	Clusters []struct {
		ARN  string `json:"clusterArn"`
		Name string `json:"name"`
	} `json:"clusters"`
}

// clusterPath is the path of the cluster that the flags mean.
func (g *globals) clusterPath(ctx context.Context, c *client) (string, error) {
	name := g.cluster
	if name == "" {
		name = g.streams.Env("BULKHEAD_CLUSTER")
	}
	if name == "" {
		var list clusterList
		if err := c.get(ctx, "/v1/clusters", nil, &list); err != nil {
			return "", err
		}
		switch len(list.Clusters) {
		case 0:
			return "", exitError{ExitAPI, errors.New("the ledger has no cluster yet: no event of a GPU host came in")}
		case 1:
			name = list.Clusters[0].Name
		default:
			var names []string
			for _, x := range list.Clusters {
				names = append(names, x.Name)
			}
			return "", useError("there are several clusters, say which with --cluster: %s", strings.Join(names, ", "))
		}
	}
	return "/v1/clusters/" + url.PathEscape(name), nil
}

// all pages through a listing of a cluster.
func all[T any](ctx context.Context, g *globals, path, key string, q url.Values) ([]T, error) {
	c, err := g.client(ctx)
	if err != nil {
		return nil, err
	}
	base, err := g.clusterPath(ctx, c)
	if err != nil {
		return nil, err
	}
	if q == nil {
		q = url.Values{}
	}
	q.Set("limit", "200")
	out := []T{}
	for {
		var page map[string]json.RawMessage
		if err := c.get(ctx, base+path, q, &page); err != nil {
			return nil, err
		}
		var items []T
		if err := json.Unmarshal(page[key], &items); err != nil {
			return nil, exitError{ExitAPI, fmt.Errorf("%s does not answer like Bulkhead: %w", c.base, err)}
		}
		out = append(out, items...)
		var next string
		_ = json.Unmarshal(page["nextCursor"], &next)
		if next == "" {
			return out, nil
		}
		q.Set("cursor", next)
	}
}
