package app

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"github.com/andonhq/andon"
)

// open opens the listener. Beyond loopback it needs a token that can't be guessed: all who reach
// the port could read and write everything.
func (s *httpService) open(ctx context.Context) error {
	c := &s.app.Config
	secure, err := c.tlsConfig()
	if err != nil {
		return err
	}
	address, loopback, err := c.address(s.token)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, network(address), address.String())
	if err != nil {
		return listenError(c.Listen, err)
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	s.listener, s.secure, s.loopback = l, secure != nil, loopback
	if s.plain = !loopback && secure == nil && c.PlainHTTP != "allow"; s.plain {
		s.app.Log.Warn("plain HTTP beyond loopback: token and data pass in clear",
			"listen", c.Listen, "fix", "set tls_cert and tls_key, or put a proxy in front "+
				"that does TLS and set plain_http to allow")
	}
	return nil
}

// leastToken is how many characters a token has at least, as 64 bits in hexadecimal digits.
const leastToken = 16

// address reads the address to listen on. The name is resolved once, so that what is checked is
// what is listened on.
func (c *Config) address(token string) (address *net.TCPAddr, loopback bool, err error) {
	if address, err = net.ResolveTCPAddr("tcp", c.Listen); err != nil {
		return nil, false, andon.Errorf(andon.Invalid,
			"listen on %q: %w (an address is of the form 127.0.0.1:8080)", c.Listen, err)
	}
	loopback = address.IP.IsLoopback()
	switch {
	case !loopback && token == "":
		return nil, false, andon.Errorf(andon.Invalid,
			"listening on %s lets other machines in, so it needs a token: put one into a file "+
				"(openssl rand -hex 32 > token) and name the file with --token-file, "+
				"or listen on 127.0.0.1", c.Listen)
	case !loopback && len(token) < leastToken:
		return nil, false, andon.Errorf(andon.Invalid,
			"the token in token_file %s has %d characters; beyond loopback it needs %d or more, "+
				"so that it can't be guessed: make one with openssl rand -hex 32, "+
				"or listen on 127.0.0.1", c.TokenFile, len(token), leastToken)
	}
	return address, loopback, nil
}

// network is the family of an address. "tcp" would listen on all of IPv6 too where 0.0.0.0 is asked
// for: more than was said, and the address that is printed would be another. Without a host it is
// both.
func network(address *net.TCPAddr) string {
	switch {
	case address.IP == nil:
		return "tcp"
	case address.IP.To4() != nil:
		return "tcp4"
	}
	return "tcp6"
}

// ErrPortTaken is wrapped by the error of Start when another program listens on the address.
var ErrPortTaken = errors.New("another program listens there: choose another port with --listen, " +
	"or port 0 for a free one")

func listenError(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		err = ErrPortTaken
	}
	return andon.Errorf(andon.Unavailable, "listen on %s: %w", address, err)
}
