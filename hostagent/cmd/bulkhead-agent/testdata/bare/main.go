// Command bare is what any Go program with the SDK's signer and HTTP client costs
// at rest: one signed request, then sleep. The agent is measured beside it.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

func main() {
	ctx := context.Background()
	_ = imds.New(imds.Options{})
	body := []byte("{}")
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, os.Args[1], bytes.NewReader(body))
	creds, _ := credentials.NewStaticCredentialsProvider("a", "b", "").Retrieve(ctx)
	sum := sha256.Sum256(body)
	_ = v4.NewSigner().SignHTTP(ctx, creds, req, hex.EncodeToString(sum[:]), "execute-api", "eu-west-1", time.Now())
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
	time.Sleep(time.Hour)
}
