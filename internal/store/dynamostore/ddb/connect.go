package ddb

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

// Access is how a service is reached. What is not set is as the SDK's own configuration has it.
type Access struct{ Region, Endpoint, Key, Secret string }

// mostIdle is how many connections are kept between calls.
const mostIdle = 256

// CloseIdle closes the idle connections of a client that Connect made.
func CloseIdle(c aws.HTTPClient) {
	if c, ok := c.(*http.Client); ok {
		c.CloseIdleConnections()
	}
}

// Connect returns how the SDK reaches a service. It retrieves the credentials, so what is missing
// is reported now and not in the middle of the first call.
func Connect(ctx context.Context, o Access) (aws.Config, error) {
	// What the SDK would log is in the error, where it matters.
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
	const timeout = 10 * time.Second // a role is asked for over the network
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := c.Credentials.Retrieve(within); err != nil {
		return c, andon.Errorf(andon.Unavailable, "there are no AWS credentials: give the machine "+
			"a role, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or set "+
			"dynamodb.key and dynamodb.secret; an engine on this machine takes any: %w", err)
	}
	return c, nil
}
