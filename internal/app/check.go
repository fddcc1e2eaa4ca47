package app

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/kafka"
	"github.com/andonhq/andon/internal/mapping"
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
	err := errors.Join(clockErr, tokenErr,
		listenErr, tlsErr, pprofErr, checkStore(c), checkWays(c))
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

// checkWays opens what reads from other systems, and what writes to them and to people.
func checkWays(c Config) error {
	now := func() andon.Time { return 0 }
	_, err := c.Notify.open(now)
	wrong := []error{err}
	mappings := []string{c.Alerts.Mapping}
	for i := range c.Feeds {
		_, end, err := c.Feeds[i].open(now)
		if err == nil {
			end()
		} else {
			wrong = append(wrong, fmt.Errorf("feed %s: %w", c.Feeds[i].Name, err))
		}
	}
	for i := range c.Kafka {
		s := &c.Kafka[i]
		mappings = append(mappings, s.Mapping)
		if _, err := kafka.NewConsumer(s, false, now, slog.New(slog.DiscardHandler)); err != nil {
			wrong = append(wrong, fmt.Errorf("kafka source %s: %w", s.Name, err))
		}
	}
	for i := range c.Kinesis {
		mappings = append(mappings, c.Kinesis[i].Mapping)
	}
	for _, file := range mappings {
		if file != "" {
			_, err := mapping.Read(file)
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}
