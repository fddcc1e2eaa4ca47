// Package webhook posts the changes of a feed to a URL, signed as Standard Webhooks has it:
// https://www.standardwebhooks.com. It knows nothing of where they come from.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/signature"
	"github.com/andonhq/andon/internal/sink"
)

// Config says where changes are posted.
type Config struct {
	URL        string
	SecretFile string
	CA         string // file of the authorities that are trusted (PEM); "": those of the system
	Timeout    time.Duration
}

// Settings sets the defaults, and returns what sets the rest.
func (c *Config) Settings() []config.Setting {
	*c = Config{Timeout: 15 * time.Second}
	return []config.Setting{
		{Key: "url", Value: config.Secret(&c.URL), Help: "of a webhook: where changes are posted"},
		{Key: "secret_file", Value: config.Text(&c.SecretFile),
			Help: "of a webhook: file of the secret that signs, whsec_ and base64; two while it " +
				"is replaced, each on a line"},
		{Key: "timeout", Value: config.Span(&c.Timeout, time.Second),
			Help: "of a webhook: how long an answer may take"},
	}
}

// Check reports what is wrong with the settings.
func (c *Config) Check(check *config.Check) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		check.Wrong("url", "of a webhook is not of the form https://host/path")
	}
	if c.SecretFile == "" {
		check.Wrong("secret_file", "is not set, and a webhook is signed")
	}
}

// Webhook is a destination of a feed.
type Webhook struct {
	url    string
	keys   signature.Keys
	client *http.Client
	now    func() andon.Time
}

// Open reads the files of a configuration.
func (c *Config) Open(now func() andon.Time) (*Webhook, error) {
	w := &Webhook{url: c.URL, now: now}
	keys, err := signature.Read(c.SecretFile)
	if err != nil {
		return nil, err
	}
	w.keys = keys
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	roots, err := config.Authorities(c.CA)
	if err != nil {
		return nil, err
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	w.client = &http.Client{
		Transport: transport, Timeout: c.Timeout,
		// What is signed is for the URL that is configured, and for no other.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return w, nil
}

// Deliver implements sink.Destination.
func (w *Webhook) Deliver(ctx context.Context, b *sink.Batch) error {
	body, err := bodyOf(b)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("url can't be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "andon")
	w.keys.Sign(r.Header, "msg_"+b.ID, w.now(), body)
	answer, err := w.client.Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err // it says the URL, which may hold a secret
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	const most = 4 << 10 // so that the connection can be used again; what it says is not needed
	_, _ = io.CopyN(io.Discard, answer.Body, most)
	if answer.StatusCode/100 == 2 {
		return nil
	}
	return &sink.Failure{
		Err:   fmt.Errorf("the webhook answered %s", answer.Status),
		Stop:  answer.StatusCode == http.StatusGone,
		After: signature.After(answer.Header, w.now()),
	}
}

// bodyOf writes the same text of a batch each time.
func bodyOf(b *sink.Batch) ([]byte, error) {
	head, err := json.Marshal(map[string]any{"feed": b.Feed, "tenant": b.Tenant})
	if err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, `{"type":"andon.changes","timestamp":%q,"data":%s,"changes":[`,
		b.Time.String(), head[:len(head)-1])
	for i := range b.Messages {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, b.Messages[i].Value...)
	}
	return append(body, "]}}"...), nil
}
