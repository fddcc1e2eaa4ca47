package channel

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/wneessen/go-mail"

	"github.com/andonhq/andon/internal/notify"
)

// post is a channel by e-mail. It signs in anew for each message.
type post struct {
	host, from string
	options    []mail.Option
}

func newMail(c Config, password string, roots *x509.CertPool) (*post, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, errors.New("url can't be used")
	}
	p := &post{host: u.Hostname(), from: c.From}
	p.options = []mail.Option{
		mail.WithTimeout(c.Timeout), mail.WithTLSConfig(&tls.Config{
			RootCAs: roots, ServerName: u.Hostname(), MinVersion: tls.VersionTLS12,
		}),
	}
	usual := 587
	switch u.Scheme {
	case "smtps":
		usual = 465
		p.options = append(p.options, mail.WithSSL())
	case "smtp":
		p.options = append(p.options, mail.WithTLSPolicy(mail.TLSMandatory))
	default:
		usual = 25
		p.options = append(p.options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if n, err := strconv.Atoi(u.Port()); err == nil {
		usual = n
	}
	p.options = append(p.options, mail.WithPort(usual))
	if c.User != "" {
		p.options = append(p.options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover),
			mail.WithUsername(c.User), mail.WithPassword(password))
	}
	m := mail.NewMsg()
	if err := m.From(c.From); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	return p, nil
}

// Check implements notify.Channel.
func (*post) Check(address string) error { return mail.NewMsg().To(address) }

// Follows implements notify.Channel.
func (*post) Follows() bool { return false }

// Reminds implements notify.Channel.
func (*post) Reminds() bool { return false }

// Send implements notify.Channel. The ID of the message is that of the mail, so that one that
// arrives twice is known by it.
func (p *post) Send(ctx context.Context, m *notify.Message) (string, error) {
	is := mail.NewMsg()
	if err := errors.Join(is.From(p.from), is.To(m.Address)); err != nil {
		return "", &notify.Failure{Err: err, Final: true}
	}
	is.Subject(m.Subject())
	is.SetMessageIDWithValue(m.ID + "@andon")
	is.SetDateWithValue(m.At.Std())
	is.SetGenHeader("Auto-Submitted", "auto-generated")
	is.SetBodyString(mail.TypeTextPlain, m.Text())
	c, err := mail.NewClient(p.host, p.options...)
	if err != nil {
		return "", err
	}
	err = c.DialAndSendWithContext(ctx, is)
	if is.IsDelivered() { // what follows is only how the connection ended
		return is.ServerResponse(), nil
	}
	if e, ok := errors.AsType[*mail.SendError](err); ok && !e.IsTemp() && e.ErrorCode() >= 500 {
		return "", &notify.Failure{Err: err, Final: true}
	}
	if err != nil {
		return "", err
	}
	return is.ServerResponse(), nil
}
