package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// target is the server and the tenant that a command asks.
type target struct {
	url       string
	tenant    string
	tokenFile string
	// attempts is how often a request is sent while the server does not answer or is busy: a few
	// where a person waits, more where a long run would be lost.
	attempts int
}

const (
	attemptsWaiting = 3 // about a second
	attemptsRunning = 8 // about 25 seconds
)

func (p *program) newTarget() target {
	return target{
		url:       cmp.Or(p.variable("ANDON_URL"), "http://127.0.0.1:8080"),
		tokenFile: p.variable("ANDON_TOKEN_FILE"), attempts: attemptsWaiting,
	}
}

func (t *target) serverFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&t.url, "url", t.url, "`address` of the server (or ANDON_URL)")
	flags.StringVar(&t.tokenFile, "token-file", t.tokenFile, "`file` that holds the server's token")
}

func (t *target) tenantFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.tenant, "tenant", string(andon.DefaultTenant),
		"`tenant` that owns the devices")
}

// ask calls work with a client of the server, and says what to do about an error of it.
func (t *target) ask(ctx context.Context, work func(*client.Client) error) error {
	token, err := readTokenFile(t.tokenFile)
	if err != nil {
		return err
	}
	t.url = withScheme(t.url)
	c, err := client.New(client.Options{
		URL: t.url, Tenant: andon.TenantID(t.tenant), Token: token, Attempts: t.attempts,
		HTTP: impatient(),
	})
	if err != nil {
		return andon.Errorf(andon.Invalid, "%w", err)
	}
	defer c.Close()
	if t.attempts > attemptsWaiting { // a wrong address must not take as long as a busy server may
		_, err = c.Version(ctx)
	}
	if err == nil {
		err = work(c)
	}
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return t.explain(err)
}

// withScheme returns an address with http:// before it where it is host:port alone.
func withScheme(address string) string {
	if _, _, err := net.SplitHostPort(address); err != nil || strings.Contains(address, "://") {
		return address
	}
	return "http://" + address
}

// impatient makes an HTTP client that soon gives up where nobody takes a connection: a person who
// mistyped an address waits for it. All attempts together have this time until the first that
// succeeds; an answer, and a connection that is lost later, may take as long as they take.
func impatient() *http.Client {
	const patience = 2 * time.Second // enough to send a lost SYN once more
	end := sync.OnceValue(func() time.Time { return time.Now().Add(patience) })
	var reached atomic.Bool
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, at string) (net.Conn, error) {
		dialer := net.Dialer{Timeout: 30 * time.Second}
		if !reached.Load() {
			dialer.Deadline = end()
		}
		conn, err := dialer.DialContext(ctx, network, at)
		if err == nil {
			reached.Store(true)
		}
		return conn, err
	}
	return &http.Client{Transport: transport}
}

// explain says what to do about an error of the server or of the way to it. What the server calls
// wrong was typed wrong, so it is misuse.
func (t *target) explain(err error) error {
	var e *client.Error
	var unreached *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return t.explainAnswer(e, err)
	case errors.As(err, &unreached):
		return fmt.Errorf("%w\nIs a server running at %s? andon serve starts one, "+
			"--url names another", err, t.url)
	case strings.Contains(err.Error(), "gave HTTP response to HTTPS client"):
		return fmt.Errorf("%w\nThis server speaks plain HTTP: write --url http://…", err)
	case strings.Contains(err.Error(), "certificate"):
		return fmt.Errorf("%w\nIf the certificate is your own, name it: "+
			"SSL_CERT_FILE=cert.pem andon …", err)
	case strings.HasPrefix(err.Error(), "read the answer: "):
		return fmt.Errorf("%w\n%s", err, t.notAndon())
	}
	return err
}

var errInterrupted = errors.New("interrupted")

func (t *target) explainAnswer(e *client.Error, err error) error {
	switch {
	case e.Status == http.StatusUnauthorized && t.tokenFile == "":
		return fmt.Errorf("%w\nName the file that holds the server's token: --token-file FILE", err)
	case e.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w\nThe token in %s is not the server's", err, t.tokenFile)
	case e.Detail == "":
		return fmt.Errorf("%w\n%s", err, t.notAndon())
	case e.Status == http.StatusNotFound && isAboutTenant(e.Detail) && t.tenant == "":
		return fmt.Errorf("%w\nandon tenant list shows all", err)
	case e.Status == http.StatusNotFound && isAboutTenant(e.Detail):
		return fmt.Errorf("%w\nandon tenant list shows all, andon tenant set %s makes this one",
			err, shellWord(t.tenant))
	case e.Status == http.StatusNotImplemented && strings.Contains(e.Detail, "sort=device"):
		return fmt.Errorf("%w\nOf this command that is --sort device", err)
	case e.Status == http.StatusBadRequest:
		return andon.Errorf(andon.Invalid, "%w", err)
	}
	return err
}

func (t *target) notAndon() string {
	return fmt.Sprintf("What answers at %s does not look like Andon: is --url right?", t.url)
}

// isAboutTenant reports whether what is not there is the tenant, as the stores say it.
func isAboutTenant(detail string) bool {
	return strings.HasPrefix(detail, "tenant ") || strings.HasPrefix(detail, "there is no tenant ")
}

// shellWord writes a name so that a shell reads it as one word.
func shellWord(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz"+
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,") == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// deviceArg reads an argument that names a device.
func deviceArg(text string) (andon.DeviceID, error) {
	id := andon.DeviceID(text)
	return id, misnamed("", id.Validate())
}

// personArg reads an argument that names a person; what says what that person is.
func personArg(what, text string) (andon.PersonID, error) {
	id := andon.PersonID(text)
	return id, misnamed(what, id.Validate())
}

// misnamed makes misuse of what is wrong with an identifier.
func misnamed(what string, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if what != "" {
		text = strings.Replace(text, "person", what, 1)
	}
	return andon.Errorf(andon.Invalid, "%s", text)
}
