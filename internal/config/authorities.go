package config

import (
	"crypto/x509"
	"errors"
	"os"

	"github.com/andonhq/andon"
)

// Authorities reads the file of a setting tls_ca, PEM; nil, those of the system, where that is "".
// The error is Invalid.
func Authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	roots := x509.NewCertPool()
	if err == nil && !roots.AppendCertsFromPEM(text) {
		err = errors.New("it holds no certificate")
	}
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "tls_ca %s can't be used: %w", file, err)
	}
	return roots, nil
}
