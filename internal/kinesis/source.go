package kinesis

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	sdkconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go/logging"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/source"
)

// Source is one stream that is read, and how: an item of kinesis.sources.
type Source struct {
	source.Config
	Stream   string
	Region   string // "" for that of the environment
	Endpoint string // "" for the service itself
	Start    string // oldest, newest, or a time
}

// The values of Start that are no time.
const (
	oldest = "oldest"
	newest = "newest"
)

// ConfigGroup returns the settings of a source, with their defaults.
func (s *Source) ConfigGroup() config.Group {
	*s = Source{Start: oldest}
	return config.Group{Settings: append(s.Settings(), []config.Setting{
		{Key: "stream", Value: config.Text(&s.Stream), Help: "name of the stream"},
		{Key: "region", Value: config.Text(&s.Region),
			Help: "AWS region; else that of the environment"},
		{Key: "endpoint", Value: config.Text(&s.Endpoint),
			Help: "URL of what imitates the service, for tests"},
		{Key: "start", Value: config.Text(&s.Start),
			Help: "where to begin the first time: oldest, newest (what is sent from now on), or " +
				"a time"},
	}...), Check: s.check}
}

func (s *Source) check(k *config.Check) {
	s.Check(k)
	// The ids of leases have both, and a source must not take the leases of another for its own.
	if strings.Contains(s.Name, "/") {
		k.Wrong("name", "has a slash")
	}
	if strings.Contains(s.Stream, "/") {
		k.Wrong("stream", "has a slash")
	}
	if s.Stream == "" {
		k.Wrong("stream", "is missing")
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
