// Package channel sends messages: by e-mail, and by HTTP to a webhook, Slack, Microsoft Teams,
// PagerDuty, ntfy, Telegram and Alertmanager. What differs by HTTP is the body, and is in a table.
// It knows nothing of when a message is sent, and to whom.
package channel

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/signature"
)

// Config is a channel of the settings.
type Config struct {
	Name       string
	Kind       string
	URL        string
	SecretFile string
	From       string
	User       string
	CA         string // file of the authorities that are trusted (PEM); "": those of the system
	Timeout    time.Duration
}

// Group are the settings of a channel.
func (c *Config) Group() config.Group {
	*c = Config{Kind: "email", Timeout: 15 * time.Second}
	return config.Group{Check: c.check, Settings: []config.Setting{
		{Key: "name", Value: config.Given(&c.Name), Help: "as contacts of people name it"},
		{Key: "kind", Value: config.Choice(&c.Kind, kinds()...), Help: "what it sends by"},
		{Key: "url", Value: config.Secret(&c.URL), Help: "where messages are sent: of e-mail " +
			"smtp://host:587 (STARTTLS), smtps://host:465 or smtp+plain://host:25"},
		{Key: "secret_file", Value: config.Text(&c.SecretFile), Help: "file of what must stay " +
			"secret: password, token, routing key, whsec_ of a webhook, or URL of Slack or Teams"},
		{Key: "from", Value: config.Text(&c.From), Help: "of e-mail: the sender"},
		{Key: "user", Value: config.Text(&c.User), Help: "of e-mail: who signs in"},
		{Key: "ca", Value: config.Text(&c.CA),
			Help: "file of the authorities that are trusted (PEM); those of the system unless set"},
		{Key: "timeout", Value: config.Span(&c.Timeout, time.Second).That(c.inTime),
			Help: "how long the other side may take, at most 1m"},
	}}
}

func (c *Config) inTime() error {
	if c.Timeout > time.Minute { // another process takes the message after that
		return andon.Errorf(andon.Invalid, "is more than 1m")
	}
	return nil
}

func (c *Config) check(check *config.Check) {
	k := table()[c.Kind]
	if c.Name == "" {
		check.Wrong("name", "is not set")
	}
	if c.URL != "" {
		schemes := []string{"http", "https"}
		if c.Kind == email {
			schemes = []string{"smtp", "smtps", "smtp+plain"}
		}
		u, err := url.Parse(c.URL)
		if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
			check.Wrong("url", "is not of the form %s://host", schemes[len(schemes)-1])
		}
	} else if k.url == "" && !k.secretURL {
		check.Wrong("url", "is not set")
	}
	if c.SecretFile == "" && k.secret {
		check.Wrong("secret_file", "is not set")
	}
	if c.Kind == email && c.From == "" {
		check.Wrong("from", "is not set")
	}
	if c.Kind == email && (c.User == "") != (c.SecretFile == "") {
		check.Wrong("user", "and secret_file are set together")
	}
}

// Open reads the files of a configuration.
func (c *Config) Open(now func() andon.Time) (notify.Channel, error) {
	roots, err := config.Authorities(c.CA)
	if err != nil {
		return nil, err
	}
	k := table()[c.Kind]
	w := &web{Config: *c, kind: k, now: now, client: c.client(roots)}
	if c.URL == "" {
		w.URL = k.url
	}
	if c.Kind == webhook {
		w.keys, err = signature.Read(c.SecretFile)
		return w, err
	}
	if c.SecretFile != "" {
		text, err := os.ReadFile(c.SecretFile)
		if err != nil {
			return nil, andon.Errorf(andon.Invalid, "read secret_file: %w", err)
		}
		if w.secret = strings.TrimSpace(string(text)); w.secret == "" {
			return nil, andon.Errorf(andon.Invalid, "secret_file %s is empty", c.SecretFile)
		}
	}
	if k.secretURL && strings.HasPrefix(w.secret, "https://") && c.URL == "" {
		w.URL = w.secret
	}
	if c.Kind == teams && w.URL == "" {
		return nil, andon.Errorf(andon.Invalid, "secret_file %s holds no URL", c.SecretFile)
	}
	if c.Kind == email {
		return newMail(*c, w.secret, roots)
	}
	return w, nil
}

func (c *Config) client(roots *x509.CertPool) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{
		Transport: transport, Timeout: c.Timeout,
		// What holds a secret is for the host that is configured, and for no other.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}
