package test

import (
	"bufio"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/enginetest"
)

// smtpServer takes mail with STARTTLS from who signs in, and prints it line by line.
const smtpServer = `
import json, ssl, sys, time
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

class Handler:
    async def handle_DATA(self, server, session, envelope):
        print(json.dumps({"from": envelope.mail_from, "to": envelope.rcpt_tos,
            "tls": session.ssl is not None, "text": envelope.content.decode()}), flush=True)
        return "250 kept"

def sign_in(server, session, envelope, mechanism, data):
    good = data.login == b"andon" and data.password == b"pass word"
    return AuthResult(success=good)

context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(sys.argv[2], sys.argv[3])
Controller(Handler(), hostname="127.0.0.1", port=int(sys.argv[1]), tls_context=context,
    require_starttls=True, auth_required=True, auth_require_tls=True,
    authenticator=sign_in).start()
print("ready", flush=True)
time.sleep(3600)
`

// notifyTools is the name of the tools of requirementsOfNotify.
const notifyTools = "notify-2"

const requirementsOfNotify = "aiosmtpd==1.4.6\nstandardwebhooks==1.1.0\nicalendar==6.3.1\n"

// verifyNotification prints what the library of Standard Webhooks says of a request.
const verifyNotification = `
import sys, standardwebhooks.webhooks as w
headers = dict(a.split("=", 1) for a in sys.argv[2:])
print(w.Webhook(sys.argv[1]).verify(sys.stdin.buffer.read(), headers)["data"]["subject"])
`

// serveMail starts the SMTP server, and returns its address, the certificate that it is known by,
// and its lines.
func serveMail(t *testing.T, python, dir string) (address, ca string, lines *bufio.Scanner) {
	t.Helper()
	tls := httptest.NewTLSServer(nil)
	defer tls.Close()
	certificate := tls.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	ca, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		ca:      {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]},
		keyFile: {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address = freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.CommandContext(t.Context(), python, "-c", smtpServer, port, ca, keyFile)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines = bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the SMTP server says %q", lines.Text())
	}
	return address, ca, lines
}

// TestFromEventToMessage: a device leaves NORMAL, and a person has it by e-mail, with TLS and a
// password, and by a webhook whose signature is right. The link in the message acknowledges once
// its button is pressed, and not when it is opened.
func TestFromEventToMessage(t *testing.T) {
	python := enginetest.Python(t, notifyTools, requirementsOfNotify)
	dir := t.TempDir()
	mail, ca, lines := serveMail(t, python, dir)
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	type posted struct {
		header http.Header
		body   []byte
	}
	hooks := make(chan posted, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hooks <- posted{r.Header, body}
	}))
	defer hook.Close()
	s := tellLiz(t, dir, mail, ca, hook.URL, secret)
	began := time.Now()
	s.send(t, "POST", "/api/v1/events", "application/json",
		`{"device":"press-7","state":"WARNING2","message":"oil is hot"}`)

	if !lines.Scan() {
		t.Fatal("no mail came")
	}
	t.Logf("the mail came after %s", time.Since(began))
	var got struct {
		From, Text string
		To         []string
		TLS        bool
	}
	if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(got.Text, "=\r\n", ""), "=3D", "=")
	if !got.TLS || got.From != "andon@example.org" || fmt.Sprint(got.To) != "[liz@example.org]" ||
		!strings.Contains(text, "Subject: Andon: press-7 WARNING2") ||
		!strings.Contains(text, "Message: oil is hot") {
		t.Errorf("the mail is %+v", got)
	}
	is := <-hooks
	args := []string{"-c", verifyNotification, secret}
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		args = append(args, name+"="+is.header.Get(name))
	}
	verify := exec.CommandContext(t.Context(), python, args...)
	verify.Stdin = strings.NewReader(string(is.body))
	said, err := verify.CombinedOutput()
	if string(said) != "Andon: press-7 WARNING2\n" {
		t.Errorf("the library says %s, %v", said, err)
	}
	checkLink(t, s, text)
	s.await(t, "/api/v1/notifications?to=Liz&status=delivered", `"answer":"kept"`)
	if out, errs, code := run(t, "notify", "test", "--to", "Liz", "--url", s.url); code != 0 {
		t.Errorf("a test ends with %d: %s%s", code, out, errs)
	}
}

// tellLiz starts a server that keeps incidents and tells one person, by both channels.
func tellLiz(t *testing.T, dir, mail, ca, hook, secret string) *server {
	t.Helper()
	const form = "application/json"
	address := freeAddress(t)
	for name, text := range map[string]string{
		"password": "pass word", "secret": secret, "andon.yaml": fmt.Sprintf(`
notify:
  url: http://%s
  channels:
    - {name: mail, kind: email, url: "smtp://%s", from: andon@example.org, user: andon,
       secret_file: %s/password, ca: %s}
    - {name: hook, kind: webhook, url: "%s", secret_file: %s/secret}
`, address, mail, dir, ca, hook, dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := startProgram(t, command(t, "serve", "--listen", address, "--log-level", "warn",
		"--data", filepath.Join(dir, "data"), "--config", filepath.Join(dir, "andon.yaml")))
	s.send(t, "PUT", "/api/v1/people/Liz", form, `{"contacts":[{"channel":"hook"}]}`)
	s.send(t, "POST", "/api/v1/people/Liz/contacts", form,
		`{"channel":"mail","address":"liz@example.org"}`)
	s.send(t, "PUT", "/api/v1/policies/all", form,
		`{"match":{},"steps":[{"after":"0s","to":"person Liz"}]}`)
	return s
}

// checkLink acknowledges by the link of a message.
func checkLink(t *testing.T, s *server, text string) {
	t.Helper()
	link := regexp.MustCompile(`http://\S+/acknowledge/[\w.-]+`).FindString(text)
	path := strings.TrimPrefix(link, s.url)
	if status, page := s.fetch(t, path); status != 200 || !strings.Contains(page, "<button") {
		t.Fatalf("%q: %d %s", path, status, page)
	}
	if status, page := s.fetch(t, "/api/v1/incidents"); !strings.Contains(page,
		`"status":"unacknowledged"`) {
		t.Errorf("once the link was opened: %d %s", status, page)
	}
	if page := s.send(t, "POST", path, "", ""); !strings.Contains(page, "Liz has acknowledged it") {
		t.Errorf("the page says %s", page)
	}
	s.await(t, "/api/v1/incidents", `"status":"acknowledged"`)
}
