package app

import (
	"errors"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/all"
)

// Check reports what Start would refuse a configuration for, all of it together, without listening
// or opening a store: addresses, the token, the certificate, the name of the store. It reads the
// files that the configuration names.
func Check(c config.Config) error {
	a := New(Options{Config: c})
	token, tokenErr := readToken(c.TokenFile)
	// Where the token can't be read, that it is missing would be the same mistake told twice.
	_, _, listenErr := a.address(token != "" || tokenErr != nil)
	_, tlsErr := a.tlsConfig()
	var pprofErr error
	if c.Pprof.Listen != "" {
		_, pprofErr = profileAddress(c.Pprof.Listen)
	}
	err := errors.Join(tokenErr, listenErr, tlsErr, pprofErr, checkStore(c.Store))
	if err != nil {
		return andon.Errorf(andon.Invalid, "%w", err)
	}
	return nil
}

func checkStore(name string) error {
	if names := all.Names(); !slices.Contains(names, name) {
		return andon.Errorf(andon.Invalid,
			"store %q is not in this build: it has %s", name, strings.Join(names, ", "))
	}
	return nil
}
