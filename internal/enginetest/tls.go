package enginetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// tlsFiles are the paths of the certificate that a node and its clients show, as PEM. It signs
// itself, so it is also the authority that both trust.
type tlsFiles struct {
	Certificate, Key string
	KeyAndChain      string // both, as a node wants them
}

// TLSFiles returns where a secured node has what a client needs, as PEM: the authority to trust,
// and a certificate to show with its key.
func (n *Node) TLSFiles() (authority, certificate, key string) {
	return n.tls.Certificate, n.tls.Certificate, n.tls.Key
}

// TLS returns what a client of a secured node needs.
func (n *Node) TLS() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(n.tls.Certificate, n.tls.Key)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(own.Leaf)
	return &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}}, nil
}

// makeTLS writes a certificate for a host into a directory, unless it has one. It is valid for
// longer than any directory of a test.
func makeTLS(dir, host string) (*tlsFiles, error) {
	f := &tlsFiles{
		filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem"),
		filepath.Join(dir, "node.pem"),
	}
	if _, err := os.Stat(f.KeyAndChain); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host},
		NotBefore:   time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:    time.Date(2099, time.January, 1, 0, 0, 0, 0, time.UTC),
		IPAddresses: []net.IP{net.ParseIP(host)},
		IsCA:        true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", host, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return f, errors.Join(
		os.MkdirAll(dir, 0o755),
		os.WriteFile(f.Certificate, certificate, 0o644),
		os.WriteFile(f.Key, keyPEM, 0o600),
		os.WriteFile(f.KeyAndChain, slices.Concat(keyPEM, certificate), 0o600),
	)
}
