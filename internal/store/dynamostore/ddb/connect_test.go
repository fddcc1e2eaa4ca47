package ddb

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/andonhq/andon"
)

// noEnvironment hides what the environment knows of AWS.
func noEnvironment(t *testing.T) {
	t.Helper()
	nothing := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "",
		"AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": nothing, "AWS_SHARED_CREDENTIALS_FILE": nothing,
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
	} {
		t.Setenv(name, value)
	}
}

// TestFailure: an error that the operator can fix names what to do.
func TestFailure(t *testing.T) {
	lookup := &net.DNSError{Err: "no such host", Name: "dynamodb.us-est-1.amazonaws.com"}
	elsewhere := *lookup
	elsewhere.IsNotFound = true
	code := func(code string) error { return &smithy.GenericAPIError{Code: code} }
	for want, err := range map[string]error{
		"no host dynamodb.us-est-1.amazonaws.com: correct dynamodb.region": fmt.Errorf(
			"send: %w", &elsewhere),
		"can't be reached: check dynamodb.endpoint": lookup,
		"give it to their role or user":             code("AccessDeniedException"),
		"check them, the clock, and that the account uses dynamodb.region": code(
			"UnrecognizedClientException"),
		"run `andon store init`, or correct dynamodb.prefix and dynamodb.region": code(
			"ResourceNotFoundException"),
	} {
		got := Failure("DescribeTable", "andon-Devices", err)
		if andon.KindOf(got) != andon.Unavailable || !strings.Contains(got.Error(), want) {
			t.Errorf("%v: %v, want %q", err, got, want)
		}
	}
}

// TestAnotherServer: what answers is not DynamoDB, as where a port is wrong, or a proxy refuses.
func TestAnotherServer(t *testing.T) {
	noEnvironment(t)
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>no</html>", status)
		}))
		defer s.Close()
		to, err := Connect(t.Context(), Access{Endpoint: s.URL, Key: "k", Secret: "s"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = dynamodb.NewFromConfig(to).ListTables(t.Context(), nil)
		err = Failure("ListTables", "andon", err)
		want := fmt.Sprintf(
			"of HTTP status %d, is not one of DynamoDB: check dynamodb.endpoint", status)
		if andon.KindOf(err) != andon.Unavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestAccess(t *testing.T) {
	noEnvironment(t)
	for _, c := range []struct {
		Access
		kind andon.Kind
		want string
	}{
		{Access{Key: "k", Secret: "s"}, andon.Invalid, "set dynamodb.region, or AWS_REGION"},
		{Access{Region: "eu-west-1"}, andon.Unavailable, "set dynamodb.key and dynamodb.secret"},
		{Access{Endpoint: "http://127.0.0.1:1"}, andon.Unavailable, "takes any"},
	} {
		_, err := Connect(t.Context(), c.Access)
		if andon.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %v with %q", c.Access, err, c.kind, c.want)
		}
	}
	got, err := Connect(t.Context(), Access{Endpoint: "http://127.0.0.1:1", Key: "k", Secret: "s"})
	if err != nil || *got.BaseEndpoint != "http://127.0.0.1:1" || got.Region == "" {
		t.Errorf("an engine on this machine is reached by %+v, %v", got, err)
	}
	t.Setenv("AWS_REGION", "ap-south-1")
	got, err = Connect(t.Context(), Access{Key: "k", Secret: "s"})
	if err != nil || got.Region != "ap-south-1" || got.BaseEndpoint != nil {
		t.Errorf("the service of the environment is reached by %+v, %v", got, err)
	}
}
