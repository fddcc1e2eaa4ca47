package dynamostore

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"

	"github.com/andonhq/andon"
)

// access is how a service is reached; what is not set is as the SDK's own configuration has it.
type access struct{ Region, Endpoint, Key, Secret string }

// mostIdle is how many connections are kept between calls.
const mostIdle = 256

// closeIdle closes the connections of a client that service made.
func closeIdle(c aws.HTTPClient) {
	if c, ok := c.(*http.Client); ok {
		c.CloseIdleConnections()
	}
}

// service returns how a service is reached. It asks for the credentials, so what is missing is said
// now and not in the middle of the first call.
func service(ctx context.Context, o access) (aws.Config, error) {
	// What the SDK has to say on the way is in the error, where it matters.
	load := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.Key != "" {
		load = append(load, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(o.Key, o.Secret, "")))
	}
	c, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return c, andon.Errorf(andon.Invalid, "read the AWS configuration: %w", err)
	}
	transport := awshttp.NewBuildableClient().GetTransport() // with the SDK's own time limits
	transport.MaxIdleConnsPerHost = mostIdle
	c.HTTPClient = &http.Client{Transport: transport}
	if o.Endpoint != "" {
		c.BaseEndpoint = &o.Endpoint
	}
	if c.Region == "" && o.Endpoint != "" {
		c.Region = "us-east-1" // an engine on this machine has no regions
	}
	if c.Region == "" {
		return c, andon.Errorf(andon.Invalid, "no AWS region is set: set dynamodb.region, or "+
			"AWS_REGION")
	}
	const patience = 10 * time.Second // a role is asked for over the network
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := c.Credentials.Retrieve(within); err != nil {
		return c, andon.Errorf(andon.Unavailable, "there are no AWS credentials: give the machine "+
			"a role, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or set "+
			"dynamodb.key and dynamodb.secret; an engine on this machine takes any: %w", err)
	}
	return c, nil
}
