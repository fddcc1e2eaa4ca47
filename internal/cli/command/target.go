package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// Target is the server and the tenant of a command.
type Target struct {
	URL       string
	Tenant    string
	TokenFile string
	// Attempts is how often a request is sent while the server does not answer or is busy: more
	// where a long run would be lost.
	Attempts int

	program *Program
	command *cobra.Command
}

// How often a request is sent.
const (
	AttemptsWaiting = 3 // about a second
	AttemptsRunning = 8 // about 25 seconds
)

// NewTarget gives a command the flags that say which server it is about, and which tenant, and
// returns what they say. Without --url and --token-file the environment says it.
func (p *Program) NewTarget(cmd *cobra.Command) *Target {
	t := p.NewServer(cmd)
	cmd.Flags().StringVar(&t.Tenant, "tenant", string(andon.DefaultTenant),
		"`tenant` that owns the devices")
	return t
}

// NewServer is NewTarget for a command that is about no tenant, or names it itself.
func (p *Program) NewServer(cmd *cobra.Command) *Target {
	t := &Target{
		URL:       cmp.Or(p.Variable("ANDON_URL"), "http://127.0.0.1:8080"),
		TokenFile: p.Variable("ANDON_TOKEN_FILE"), Attempts: AttemptsWaiting,
		program: p, command: cmd,
	}
	flags := cmd.Flags()
	flags.StringVar(&t.URL, "url", t.URL, "`address` of the server (or ANDON_URL)")
	flags.StringVar(&t.TokenFile, "token-file", t.TokenFile, "`file` that holds the server's token")
	return t
}

// Ask calls work with a client of the server, and adds advice to its error.
func (t *Target) Ask(ctx context.Context, work func(*client.Client) error) error {
	token, err := ReadTokenFile(t.TokenFile)
	if err != nil {
		return err
	}
	t.URL = WithScheme(t.URL)
	c, err := client.New(client.Options{
		URL: t.URL, Tenant: andon.TenantID(t.Tenant), Token: token, Attempts: t.Attempts,
		HTTP: QuickDialer(),
	})
	if err != nil {
		return andon.Errorf(andon.Invalid, "%w", err)
	}
	defer c.Close()
	if t.Attempts > AttemptsWaiting { // a wrong address must not take as long as a busy server may
		_, err = c.Version(ctx)
	}
	if err == nil {
		err = work(c)
	}
	if err != nil && ctx.Err() != nil {
		return ErrInterrupted
	}
	return t.Explain(err)
}

// Asks makes the command send requests to the server, and returns the command.
func (t *Target) Asks(
	work func(context.Context, *client.Client, []string) error,
) *cobra.Command {
	return t.program.Does(t.command, func(ctx context.Context, args []string) error {
		return t.Ask(ctx, func(c *client.Client) error { return work(ctx, c, args) })
	})
}

// WithScheme adds http:// to an address that is only host:port.
func WithScheme(address string) string {
	if _, _, err := net.SplitHostPort(address); err != nil || strings.Contains(address, "://") {
		return address
	}
	return "http://" + address
}

// QuickDialer returns an HTTP client that gives up soon if nothing accepts a connection: a user who
// mistyped an address waits for it.
func QuickDialer() *http.Client {
	dialer := net.Dialer{Timeout: 2 * time.Second} // enough to send a lost SYN once more
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = dialer.DialContext
	return &http.Client{Transport: transport}
}

// Explain adds advice to an error of the server or of the connection. A bad request is an error of
// the kind Invalid: the user typed what was wrong.
func (t *Target) Explain(err error) error {
	var e *client.Error
	var unreached *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return t.explainAnswer(e, err)
	case errors.As(err, &unreached):
		return fmt.Errorf("%w\nIs a server running at %s? andon serve starts one, "+
			"--url names another", err, t.URL)
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

// ErrInterrupted means that a signal ended the command.
var ErrInterrupted = errors.New("interrupted")

func (t *Target) explainAnswer(e *client.Error, err error) error {
	switch {
	case e.Status == http.StatusUnauthorized && t.TokenFile == "":
		return fmt.Errorf("%w\nName the file that holds the server's token: --token-file FILE", err)
	case e.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w\nThe token in %s is not the server's", err, t.TokenFile)
	case e.Detail == "":
		return fmt.Errorf("%w\n%s", err, t.notAndon())
	case e.Status == http.StatusNotFound && isAboutTenant(e.Detail) && t.Tenant == "":
		return fmt.Errorf("%w\nandon tenant list shows all", err)
	case e.Status == http.StatusNotFound && isAboutTenant(e.Detail):
		return fmt.Errorf("%w\nandon tenant list shows all, andon tenant set %s creates this one",
			err, ShellWord(t.Tenant))
	case e.Status == http.StatusNotImplemented && strings.Contains(e.Detail, "sort=device"):
		return fmt.Errorf("%w\nWith this command, that is --sort device", err)
	case e.Status == http.StatusBadRequest:
		return andon.Errorf(andon.Invalid, "%w", err)
	}
	return err
}

func (t *Target) notAndon() string {
	tls := ""
	if strings.HasPrefix(t.URL, "http://") {
		tls = " If it speaks TLS, the address begins with https://."
	}
	return fmt.Sprintf("What answers at %s does not look like Andon: is --url right?%s", t.URL, tls)
}

// isAboutTenant reports whether a store says that the tenant does not exist.
func isAboutTenant(detail string) bool {
	return strings.HasPrefix(detail, "tenant ") || strings.HasPrefix(detail, "there is no tenant ")
}

// ShellWord quotes a name for a shell, if it needs quotes.
func ShellWord(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz"+
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,") == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// IsStatus reports whether an error is an answer with that status.
func IsStatus(err error, status int) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status == status
}

// IsUnsupported reports whether the server's store can't serve the request.
func IsUnsupported(err error) bool { return IsStatus(err, http.StatusNotImplemented) }

// ReadTokenFile reads a token from a file, or returns "" if no file is named.
func ReadTokenFile(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", andon.Errorf(andon.Invalid, "read --token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// NoDevice returns the answer that a device does not exist; nil where an error is another one, such
// as that its tenant does not.
func NoDevice(err error) *client.Error {
	e, ok := errors.AsType[*client.Error](err)
	if ok && e.Status == http.StatusNotFound && e.Detail != "" && !isAboutTenant(e.Detail) {
		return e
	}
	return nil
}
