package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/bulkhead-ecs/bulkhead/events"
)

// Failure is an answer that was no success.
type Failure struct {
	Status    int           // 0: no answer
	Permanent bool          // this report will never be taken
	After     time.Duration // the API asked for this wait
	Err       error
}

func (f *Failure) Error() string {
	if f.Status == 0 {
		return fmt.Sprintf("send report: %v", f.Err)
	}
	return fmt.Sprintf("send report: HTTP %d: %v", f.Status, f.Err)
}

func (f *Failure) Unwrap() error { return f.Err }

// Bounds of one request.
const (
	maxAnswer   = 64 << 10
	maxAfter    = 10 * time.Minute
	skewToMend  = 30 * time.Second // SigV4 bears five minutes
	SendTimeout = 15 * time.Second
)

// Sender sends one report by a signed request. Safe for concurrent use.
type Sender struct {
	Endpoint    string // "https://….execute-api.eu-west-1.amazonaws.com/prod"
	Region      string
	Credentials aws.CredentialsProvider
	Client      *http.Client
	Now         func() time.Time

	signer v4.Signer
	skew   atomic.Int64 // the API's clock less ours, nanoseconds
}

// NewSender signs with creds for region. A redirect is never followed: a signed
// report goes where the configuration says.
func NewSender(endpoint, region string, creds aws.CredentialsProvider) (*Sender, error) {
	u, err := url.Parse(endpoint)
	loop := err == nil && (u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" || u.Hostname() == "localhost")
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loop) {
		return nil, fmt.Errorf("endpoint %q: want https://host[/stage] (http only on loopback)", endpoint)
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxIdleConns, tr.MaxIdleConnsPerHost = 1, 1
	tr.IdleConnTimeout = 30 * time.Second
	tr.WriteBufferSize, tr.ReadBufferSize = 4<<10, 4<<10
	// One request at a time gains nothing by HTTP/2, whose machinery costs memory.
	tr.ForceAttemptHTTP2 = false
	tr.Protocols = new(http.Protocols)
	tr.Protocols.SetHTTP1(true)
	tr.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	return &Sender{
		Endpoint: strings.TrimRight(endpoint, "/"), Region: region, Credentials: creds, Now: time.Now, signer: *v4.NewSigner(),
		Client: &http.Client{Timeout: SendTimeout, Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Send sends r with SentAt set. Every error is a *Failure.
func (s *Sender) Send(ctx context.Context, r events.HostReport) (events.HostReportAnswer, error) {
	now := s.Now().Add(time.Duration(s.skew.Load()))
	r.SentAt = now.UTC()
	body, err := json.Marshal(r)
	if err != nil {
		return events.HostReportAnswer{}, &Failure{Permanent: true, Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Endpoint+"/v1/hosts/"+url.PathEscape(r.InstanceID)+"/reports", bytes.NewReader(body))
	if err != nil {
		return events.HostReportAnswer{}, &Failure{Permanent: true, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	creds, err := s.Credentials.Retrieve(ctx)
	if err != nil {
		return events.HostReportAnswer{}, &Failure{Err: fmt.Errorf("credentials: %w", err)}
	}
	sum := sha256.Sum256(body)
	if err := s.signer.SignHTTP(ctx, creds, req, hex.EncodeToString(sum[:]), "execute-api", s.Region, now); err != nil {
		return events.HostReportAnswer{}, &Failure{Err: fmt.Errorf("sign: %w", err)}
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		return events.HostReportAnswer{}, &Failure{Err: err}
	}
	defer resp.Body.Close()
	s.learnSkew(resp.Header.Get("Date"))
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 != 2 {
		return events.HostReportAnswer{}, refusal(resp, raw)
	}
	var a events.HostReportAnswer
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &a)
	}
	if err != nil {
		return a, &Failure{Status: resp.StatusCode, Err: fmt.Errorf("answer: %w", err)}
	}
	return a, nil
}

// refusal sorts an answer: what is wrong with the report itself never heals, all
// else may (a role is mended, a limit passes, an API comes back).
func refusal(resp *http.Response, raw []byte) *Failure {
	f := &Failure{Status: resp.StatusCode, Err: errors.New(strings.ToValidUTF8(string(raw[:min(len(raw), 256)]), "?"))}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusGone:
		f.Permanent = true
	}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		f.After = min(time.Duration(n)*time.Second, maxAfter)
	}
	return f
}

// learnSkew keeps how far the host's clock is off, so that a host whose clock is
// wrong can still sign. The certificate was checked before the header was read.
func (s *Sender) learnSkew(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	if off := at.Sub(s.Now()); off.Abs() > skewToMend {
		s.skew.Store(int64(off))
	} else {
		s.skew.Store(0)
	}
}
