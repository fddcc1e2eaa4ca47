package app

import (
	"errors"
	"log/slog"

	"github.com/andonhq/andon"
)

// unreadToken is in place of a token that is there but can't be read.
const unreadToken = "0123456789abcdef"

// Check reports what Start would refuse a configuration for, all of it together, without listening
// or opening a store: addresses, the token, the certificate, the name of the store and what is set
// of it, channels, feeds and sources. It reads the files that the configuration names, and sends
// nothing.
func Check(c Config) error {
	token, tokenErr := readToken(c.TokenFile)
	if tokenErr != nil { // that it is missing would be the same mistake reported twice
		token = unreadToken
	}
	_, _, listenErr := c.address(token)
	_, tlsErr := c.tlsConfig()
	var pprofErr error
	if c.Profiles != "" {
		_, pprofErr = profileAddress(c.Profiles)
	}
	_, clockErr := confirmedClock(c.Expiry.Clock)
	a := New(Options{
		Config: c, Now: func() andon.Time { return 0 }, Log: slog.New(slog.DiscardHandler),
	})
	err := errors.Join(clockErr, tokenErr,
		listenErr, tlsErr, pprofErr, checkStore(c), a.openWays())
	a.closeFeeds()
	if err != nil {
		return andon.Errorf(andon.Invalid, "%w", err)
	}
	return nil
}

func checkStore(c Config) error {
	e, err := c.Engine()
	if err != nil {
		return err
	}
	return e.Check()
}
