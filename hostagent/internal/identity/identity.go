// Package identity says which instance and which boot this is: the instance by
// the metadata service (IMDSv2 only), the boot by the kernel.
package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// Instance is who signs the reports.
type Instance struct{ ID, Type, Region, AccountID string }

// ErrNoMetadata: the metadata service does not answer. On EC2 raise the hop limit
// or enable it; elsewhere set the identity by hand.
var ErrNoMetadata = errors.New("instance metadata is not available")

// Metadata asks the instance metadata service.
type Metadata struct{ client *imds.Client }

// New uses the service at endpoint, "" being that of EC2. The version without a
// session token is never fallen back to.
func New(endpoint string) Metadata {
	return Metadata{imds.New(imds.Options{Endpoint: endpoint, EnableFallback: aws.FalseTernary, HTTPClient: &http.Client{Timeout: 3 * time.Second}})}
}

// Instance reads the identity document.
func (m Metadata) Instance(ctx context.Context) (Instance, error) {
	d, err := m.client.GetInstanceIdentityDocument(ctx, nil)
	if err != nil {
		return Instance{}, fmt.Errorf("%w: %w", ErrNoMetadata, err)
	}
	if !strings.HasPrefix(d.InstanceID, "i-") || d.Region == "" {
		return Instance{}, fmt.Errorf("%w: the document names instance %.40q in region %.40q", ErrNoMetadata, d.InstanceID, d.Region)
	}
	return Instance{ID: d.InstanceID, Type: d.InstanceType, Region: d.Region, AccountID: d.AccountID}, nil
}

// Credentials are those of the instance's role, renewed before they end.
func (m Metadata) Credentials() aws.CredentialsProvider {
	return aws.NewCredentialsCache(ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = m.client }))
}

// BootID reads the kernel's name for this boot under proc ("/proc").
func BootID(proc string) (string, error) {
	b, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	id := strings.TrimSpace(string(b))
	if id == "" || len(id) > 64 {
		return "", fmt.Errorf("boot id: %d bytes", len(id))
	}
	return id, nil
}

// Uptime is the time since boot by the clock that no one sets.
func Uptime(proc string) (time.Duration, error) {
	b, err := os.ReadFile(filepath.Join(proc, "uptime"))
	if err != nil {
		return 0, fmt.Errorf("uptime: %w", err)
	}
	first, _, _ := strings.Cut(string(b), " ")
	s, err := strconv.ParseFloat(first, 64)
	if err != nil || s < 0 {
		return 0, fmt.Errorf("uptime: %.40q", first)
	}
	return time.Duration(s * float64(time.Second)), nil
}
