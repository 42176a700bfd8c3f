package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
)

// lintSource opens what is to be linted: a file, standard input, or an object of S3.
type lintSource struct {
	in     io.Reader
	env    func(string) string
	region string
	s3     *s3.Client // made when the first object is asked for
}

const s3Scheme = "s3://"

// read takes one byte more than may be read, so that too much is seen as such without holding it.
func (l *lintSource) read(ctx context.Context, name string) ([]byte, error) {
	from, err := l.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	content, err := io.ReadAll(io.LimitReader(from, int64(admission.DefaultLimits.Bytes)+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return content, nil
}

func (l *lintSource) open(ctx context.Context, name string) (io.ReadCloser, error) {
	switch {
	case name == "-":
		return io.NopCloser(l.in), nil
	case strings.HasPrefix(name, s3Scheme):
		return l.object(ctx, name)
	}
	return os.Open(name)
}

func (l *lintSource) object(ctx context.Context, name string) (io.ReadCloser, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(name, s3Scheme), "/")
	if bucket == "" || key == "" {
		return nil, fmt.Errorf("%s: an object is named s3://bucket/key", name)
	}
	if l.s3 == nil {
		if err := l.connect(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	out, err := l.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, plainS3(err, l.s3.Options().Region))
	}
	return out.Body, nil
}

// connect takes S3's address from AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, as the AWS command line does.
func (l *lintSource) connect(ctx context.Context) error {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(l.region))
	if err != nil {
		return fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return errors.New("no Region is set: give --region, or set AWS_REGION, to the one of the bucket")
	}
	l.s3 = s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.DisableLogOutputChecksumValidationSkipped = true // most objects have none, and it would be told on each
		for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
			if url := l.env(name); url != "" && o.BaseEndpoint == nil {
				o.BaseEndpoint, o.UsePathStyle = aws.String(url), true
			}
		}
	})
	return nil
}

// plainS3 says in a sentence what S3 answered and what to do about it.
func plainS3(err error, region string) error {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		if is := answer.Response.Header.Get("x-amz-bucket-region"); is != "" && is != region {
			return fmt.Errorf("the bucket is in Region %s, and %s was asked: give --region %s", is, region, is)
		}
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode() {
	case "NoSuchBucket":
		return errors.New("there is no such bucket")
	case "NoSuchKey", "NotFound":
		return errors.New("there is no such object in the bucket")
	case "AccessDenied", "Forbidden":
		return errors.New("S3 refuses it: the credentials need s3:GetObject on the object (and s3:ListBucket on the bucket to be told that it is not there)")
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return fmt.Errorf("the bucket is in another Region than %s: give --region (%s)", region, api.ErrorMessage())
	}
	return fmt.Errorf("S3 answers %s: %s", api.ErrorCode(), api.ErrorMessage())
}

// replaceFile writes a file anew beside itself and puts it in its place, so that no one sees half of it, and what
// was there stays when writing fails. Its mode stays too, and a link goes on pointing to the file.
func replaceFile(name string, content []byte) (err error) {
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return err
	}
	was, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !was.Mode().IsRegular() {
		return fmt.Errorf("%s is not a plain file, and is left as it is", name)
	}
	temp, err := os.CreateTemp(filepath.Dir(name), ".bulkhead-lint-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err = temp.Write(content); err != nil {
		return err
	}
	if err = temp.Chmod(was.Mode().Perm()); err != nil {
		return err
	}
	if err = temp.Sync(); err != nil {
		return err
	}
	if err = temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), name)
}
