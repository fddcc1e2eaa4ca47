package kinesis

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	sdkconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go/logging"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
)

// Source is one stream that is read, and how: an item of kinesis.sources.
type Source struct {
	Name, Stream string
	Region       string // "" for that of the environment
	Endpoint     string // "" for the service itself
	Tenant       string
	Mapping      string // file; "" for Andon's own JSON
	Start        string // oldest, newest, or a time
}

// The values of Start that are no time.
const (
	oldest = "oldest"
	newest = "newest"
)

// Config returns the settings of a source, with their defaults.
func (s *Source) Config() config.Group {
	*s = Source{Tenant: string(andon.DefaultTenant), Start: oldest}
	return config.Group{Settings: []config.Setting{
		{Key: "name", Value: config.Text(&s.Name),
			Help: "what metrics, the log and rejections call the source; how far it was read " +
				"belongs to this name and the stream"},
		{Key: "stream", Value: config.Text(&s.Stream), Help: "name of the stream"},
		{Key: "region", Value: config.Text(&s.Region),
			Help: "AWS region; else that of the environment"},
		{Key: "endpoint", Value: config.Text(&s.Endpoint),
			Help: "URL of what imitates the service, for tests"},
		{Key: "tenant", Value: config.Given(&s.Tenant),
			Help: "tenant of the entries whose mapping names none"},
		{Key: "mapping", Value: config.Text(&s.Mapping),
			Help: "file that says how a record becomes entries; else it is Andon's own JSON"},
		{Key: "start", Value: config.Text(&s.Start),
			Help: "where to begin the first time: oldest, newest (what is sent from now on), or " +
				"a time"},
	}, Check: s.check}
}

func (s *Source) check(k *config.Check) {
	if s.Stream == "" {
		k.Wrong("stream", "is missing")
	}
	// Both are in the ids of records, whose length is bounded.
	if err := andon.TenantID(s.Name).Validate(); err != nil || len(s.Name) > 64 {
		k.Wrong("name", "is missing, is longer than 64 bytes or has control characters")
	}
	if err := andon.TenantID(s.Tenant).Validate(); err != nil {
		k.Wrong("tenant", "is none: %v", err)
	}
	if _, err := andon.ParseTime(s.Start); err != nil && s.Start != oldest && s.Start != newest {
		k.Wrong("start", "is neither oldest, newest nor a time: %v", err)
	}
}

// longestCall bounds a call of the service.
const longestCall = 30 * time.Second

// connect returns what calls the service. It calls nothing yet. The consumer tries again by itself.
func (s *Source) connect(ctx context.Context) (to api, err error) {
	c, err := sdkconfig.LoadDefaultConfig(ctx, sdkconfig.WithLogger(logging.Nop{}),
		sdkconfig.WithRegion(s.Region))
	if err != nil {
		return to, andon.Errorf(andon.Invalid, "read the AWS configuration: %w", err)
	}
	if s.Endpoint != "" {
		c.BaseEndpoint, c.Region = &s.Endpoint, cmp.Or(c.Region, "us-east-1")
	}
	if c.Region == "" {
		return to, andon.Errorf(andon.Invalid, "no AWS region is set for the source %s: set its "+
			"region, or AWS_REGION", s.Name)
	}
	sdk := kinesis.NewFromConfig(c, func(o *kinesis.Options) {
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(longestCall)
	})
	return api{sdk.ListShards, sdk.GetShardIterator, sdk.GetRecords}, nil
}
