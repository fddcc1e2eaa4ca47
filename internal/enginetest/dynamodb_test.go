package enginetest

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSerialServices starts what DynamoDB is imitated by, and lists the tables of each.
func TestSerialServices(t *testing.T) {
	t.Setenv(UserDynamoDB, "")
	for name, service := range map[string]func(testing.TB) *Service{
		"dynalite": DynamoDB, "moto": Moto,
	} {
		t.Run(name, func(t *testing.T) {
			s := service(t)
			if !strings.HasPrefix(s.About, name+" ") {
				t.Errorf("%s says that it is %q", name, s.About)
			}
			if got := listTables(t, s.URL); got != http.StatusOK {
				t.Errorf("%s on %s answers %d", s.About, s.URL, got)
			}
			if again := service(t); again != s {
				t.Error("the tests of a binary have two of them")
			}
		})
	}
}

// TestSerialClientsMayBeKilled: dynalite continues when a client ends in the middle of a request.
func TestSerialClientsMayBeKilled(t *testing.T) {
	t.Setenv(UserDynamoDB, "")
	s := DynamoDB(t)
	for range 20 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
		if err := errors.Join(err, c.(*net.TCPConn).SetLinger(0), c.Close()); err != nil {
			t.Fatal(err)
		}
		if got := listTables(t, s.URL); got != http.StatusOK {
			t.Fatalf("afterwards %s answers %d", s.About, got)
		}
	}
}

func listTables(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	r.Header.Set("X-Amz-Date", "20260101T000000Z")
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/"+
		"aws4_request, SignedHeaders=host, Signature=x")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func TestSerialUsersService(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	t.Setenv(UserDynamoDB, server.URL)
	if s, err := findDynamo(); err != nil || s.URL != server.URL {
		t.Errorf("the user's service is %+v, %v", s, err)
	}
	server.Close()
	if _, err := findDynamo(); err == nil || !strings.Contains(err.Error(), UserDynamoDB) {
		t.Errorf("a service that does not answer: %v", err)
	}
	t.Setenv(UserDynamoDB, "aws")
	if s, err := findDynamo(); err != nil || s.URL != "" {
		t.Errorf("AWS itself is %+v, %v", s, err)
	}
	t.Setenv(UserDynamoDB, "local")
	if _, err := findDynamo(); err == nil || !strings.Contains(err.Error(), "licence") {
		t.Errorf("DynamoDB Local: %v", err)
	}
}

// TestSerialServiceFails: the error of one that does not start says what it printed.
func TestSerialServiceFails(t *testing.T) {
	_, err := startService("x 1.0", func(string) *exec.Cmd {
		return exec.Command("sh", "-c", "echo no such module; exit 1")
	})
	if err == nil || !strings.Contains(err.Error(), "start x 1.0: it ended") ||
		!strings.Contains(err.Error(), "no such module") {
		t.Errorf("a service that ends at once: %v", err)
	}
}

func TestSerialCheckTemplates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "template.yaml")
	for text, want := range map[string]string{
		"Resources: {A: {Type: AWS::SNS::Topic}}\n":  "",
		"Resources: {A: {Type: AWS::SNS::Tropic}}\n": "AWS::SNS::Tropic",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := CheckTemplates(t, path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
