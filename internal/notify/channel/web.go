package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/signature"
)

// web is a channel by HTTP.
type web struct {
	Config
	kind   kind
	secret string
	keys   signature.Keys
	client *http.Client
	now    func() andon.Time
}

// Check implements notify.Channel.
func (w *web) Check(address string) error {
	needs, isSome := w.kind.address, w.kind.check
	if w.Kind == slack && w.byToken() {
		needs = "a channel of Slack"
	}
	switch given := strings.TrimSpace(address); {
	case given == "" && needs != "":
		return fmt.Errorf("is missing: %s", needs)
	case given != "" && needs == "" && w.Kind != webhook:
		return fmt.Errorf("is %q, but all messages by a channel of the kind %s go to one place",
			address, w.Kind)
	case isSome != nil && !isSome(address):
		return fmt.Errorf("%q is not %s", address, needs)
	}
	return nil
}

// Follows implements notify.Channel.
func (w *web) Follows() bool { return w.kind.follows }

// Reminds implements notify.Channel.
func (w *web) Reminds() bool { return w.Kind == alertmanager }

// byToken reports whether Slack is asked by its API, and not by the URL of a webhook.
func (w *web) byToken() bool { return w.secret != "" && w.URL != w.secret }

// Send implements notify.Channel.
func (w *web) Send(ctx context.Context, m *notify.Message) (string, error) {
	to, body := w.kind.form(w, m)
	if body == nil {
		return "nothing to say", nil
	}
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false) // what is "<" would take six bytes, and services count them
	if err := encoder.Encode(body); err != nil {
		return "", err
	}
	text := written.Bytes()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(text))
	if err != nil {
		return "", errors.New("url can't be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "andon")
	r.Header.Set("Idempotency-Key", m.ID)
	if w.keys != nil {
		w.keys.Sign(r.Header, "msg_"+m.ID, w.now(), text)
	}
	if w.kind.bearer && w.secret != "" && to != w.secret {
		r.Header.Set("Authorization", "Bearer "+w.secret)
	}
	answer, err := w.client.Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return "", e.Err // it says the URL, which may hold a secret
	}
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	const most = 4 << 10
	said, _ := io.ReadAll(io.LimitReader(answer.Body, most)) // what came is shown
	return w.judge(answer, string(said))
}

// judge reads an answer.
func (w *web) judge(r *http.Response, said string) (string, error) {
	text := r.Status
	if said = strings.TrimSpace(said); said != "" {
		text += ": " + said
	}
	text = w.redact(text)
	var ok struct {
		OK *bool `json:"ok"`
	}
	refused := w.kind.says && json.Unmarshal([]byte(said), &ok) == nil && ok.OK != nil && !*ok.OK
	if r.StatusCode/100 == 2 && !refused {
		return text, nil
	}
	f := &notify.Failure{Err: errors.New(text), Final: r.StatusCode == http.StatusGone ||
		r.StatusCode == http.StatusRequestEntityTooLarge}
	f.After = andon.DurationOf(signature.After(r.Header, w.now()))
	return "", f
}

// redact takes what is secret out of what the other side said.
func (w *web) redact(text string) string {
	for _, secret := range []string{w.secret, w.URL} {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}
