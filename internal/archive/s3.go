package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// bucket is a place on S3 or on a server that is compatible with it. The version of a name is its
// ETag.
type bucket struct {
	client       *s3.Client
	name, prefix string
}

func newBucket(ctx context.Context, c Config) (place, error) {
	sdk, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{}),
		config.WithRegion(c.Region), config.WithDefaultRegion("us-east-1"))
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "read the AWS configuration: %w", err)
	}
	b := &bucket{client: s3.NewFromConfig(sdk, func(o *s3.Options) {
		// Servers that are not AWS know neither newer checksums nor a bucket in the host's name.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		if c.Endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = &c.Endpoint, true
		}
	})}
	b.name, b.prefix, _ = c.bucket()
	return b, nil
}

func (b *bucket) key(name string) string { return path.Join(b.prefix, name) }

func (b *bucket) wrong(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	where, kind := fmt.Sprintf("s3://%s/%s", b.name, b.key(name)), andon.Unavailable
	if of, ok := errors.AsType[smithy.APIError](err); ok && of.ErrorCode() == "NoSuchBucket" {
		return andon.Errorf(kind, "%s %s: there is no bucket %s: make it, or name another one in "+
			"the setting archive", doing, where, b.name)
	}
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		switch answer.HTTPStatusCode() {
		case http.StatusNotFound:
			kind = andon.NotFound
		case http.StatusPreconditionFailed, http.StatusConflict:
			return errChanged(where)
		}
	}
	return andon.Errorf(kind, "%s %s: %w", doing, where, err)
}

func (*bucket) Temp() (*os.File, error) { return os.CreateTemp("", tempPattern) }

// Open copies to this machine: a reader of Parquet reads from several places.
func (b *bucket) Open(ctx context.Context, name string) (*os.File, string, error) {
	from, err := b.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &b.name, Key: aws.String(b.key(name)),
	})
	if err != nil {
		return nil, "", b.wrong("read", name, err)
	}
	defer from.Body.Close()
	f, err := b.Temp()
	if err != nil {
		return nil, "", err
	}
	if _, err = io.Copy(f, from.Body); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		discard(f)
	}
	return f, aws.ToString(from.ETag), b.wrong("read", name, err)
}

// Put is one PutObject, which is done whole or not at all.
func (b *bucket) Put(
	ctx context.Context, name string, f *os.File, version string,
) (string, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	in := &s3.PutObjectInput{Bucket: &b.name, Key: aws.String(b.key(name)), Body: f}
	if in.IfMatch = &version; version == "" {
		in.IfMatch, in.IfNoneMatch = nil, aws.String("*")
	}
	done, err := b.client.PutObject(ctx, in)
	if err != nil {
		return "", b.wrong("write", name, err)
	}
	return aws.ToString(done.ETag), nil
}

func (b *bucket) List(ctx context.Context, folder string) iter.Seq2[string, error] {
	return seq.Of(func(yield func(string) bool) error {
		below := strings.TrimPrefix(b.key(folder)+"/", "/")
		pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{
			Bucket: &b.name, Prefix: &below,
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return b.wrong("list", folder, err)
			}
			for _, o := range page.Contents {
				if !yield(strings.Trim(strings.TrimPrefix(*o.Key, b.prefix), "/")) {
					return nil
				}
			}
		}
		return nil
	})
}
