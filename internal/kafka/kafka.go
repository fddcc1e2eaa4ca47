// Package kafka reads the messages of topics, for a source, and writes records to a topic. It is
// the only package that knows Kafka's client. It must not know what a message means, nor a store.
package kafka

import (
	"context"
	"crypto/tls"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
)

// Connection says how the brokers of a cluster are reached.
type Connection struct {
	Brokers        []string // host:port; the others are found through these
	TLS            bool
	CA, Cert, Key  string // files, PEM; "" for the system's authorities, and for no certificate
	SASL           string // one of the mechanisms; "" for none
	User, Password string // Password is a file
}

const (
	saslPlain  = "plain"
	saslSHA256 = "scram-sha-256"
	saslSHA512 = "scram-sha-512"
)

// Settings are those of a connection, for what has one.
func (c *Connection) Settings() []config.Setting {
	return []config.Setting{
		{Key: "brokers", Value: config.List(&c.Brokers),
			Help: "some brokers of the cluster, as host:port; the others are found through them"},
		{Key: "tls", Value: config.OnOff(&c.TLS), Help: "connect by TLS"},
		{Key: "tls_ca", Value: config.Text(&c.CA),
			Help: "file of the authorities that are trusted (PEM); else those of the system"},
		{Key: "tls_cert", Value: config.Text(&c.Cert),
			Help: "file of the certificate that is shown to the brokers (PEM)"},
		{Key: "tls_key", Value: config.Text(&c.Key), Help: "file of its key (PEM)"},
		{Key: "sasl", Value: config.Choice(&c.SASL, saslPlain, saslSHA256, saslSHA512).OrNone(),
			Help: "how to log in; plain sends the password as it is, so it needs tls"},
		{Key: "user", Value: config.Text(&c.User), Help: "name to log in with"},
		{Key: "password_file", Value: config.Text(&c.Password),
			Help: "file that holds the password, read again for each connection"},
	}
}

// Check reports what is wrong with the settings together.
func (c *Connection) Check(k *config.Check) {
	if len(c.Brokers) == 0 {
		k.Wrong("brokers", "is missing")
	} else if err := kgo.ValidateOpts(kgo.SeedBrokers(c.Brokers...)); err != nil {
		k.Wrong("brokers", "can't be read: %v", err)
	}
	k.Pair("tls_cert", "tls_key")
	k.Pair("user", "password_file")
	k.Pair("sasl", "user")
	for _, key := range []string{"tls_ca", "tls_cert"} {
		if k.IsSet(key) && !c.TLS {
			k.Wrong(key, "needs tls: on as well")
		}
	}
}

// options are those of a client for the connection. The error is Invalid: a file can't be read.
func (c *Connection) options() ([]kgo.Opt, error) {
	all := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ClientID("andon"), kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(time.Second),
	}
	if c.TLS {
		secure, err := c.tls()
		if err != nil {
			return nil, err
		}
		all = append(all, kgo.DialTLSConfig(secure))
	}
	if c.SASL != "" {
		if _, err := c.password(); err != nil {
			return nil, err
		}
		all = append(all, kgo.SASL(c.mechanism()))
	}
	return all, nil
}

func (c *Connection) tls() (*tls.Config, error) {
	roots, err := config.Authorities(c.CA)
	if err != nil {
		return nil, err
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	if c.Cert != "" {
		own, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, andon.Errorf(andon.Invalid, "read tls_cert %s and tls_key %s: %w",
				c.Cert, c.Key, err)
		}
		secure.Certificates = []tls.Certificate{own}
	}
	return secure, nil
}

func (c *Connection) password() (string, error) {
	text, err := os.ReadFile(c.Password)
	if err != nil {
		return "", andon.Errorf(andon.Invalid, "read password_file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (c *Connection) mechanism() sasl.Mechanism {
	login := func(context.Context) (scram.Auth, error) {
		password, err := c.password()
		return scram.Auth{User: c.User, Pass: password}, err
	}
	switch c.SASL {
	case saslSHA256:
		return scram.Sha256(login)
	case saslSHA512:
		return scram.Sha512(login)
	}
	return plain.Plain(func(context.Context) (plain.Auth, error) {
		password, err := c.password()
		return plain.Auth{User: c.User, Pass: password}, err
	})
}
