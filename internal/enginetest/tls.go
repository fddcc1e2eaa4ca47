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
	"time"
)

// tlsFiles are the paths of a node's certificates: PEM, under one authority that is made for it.
type tlsFiles struct {
	Authority   string // who signed both; its key is not kept
	KeyAndChain string // of the node
	Client      string // a certificate for clients, where the node asks for one
	ClientKey   string
}

// TLSFiles returns where a node with TLS has what a client needs, as PEM: the authority to trust,
// and a certificate to show with its key. Empty without TLS.
func (n *Node) TLSFiles() (authority, certificate, key string) {
	if n.tls == nil {
		return "", "", ""
	}
	return n.tls.Authority, n.tls.Client, n.tls.ClientKey
}

// TLS returns what a client of a node with TLS needs; nil without TLS.
func (n *Node) TLS() (*tls.Config, error) {
	if n.tls == nil {
		return nil, nil
	}
	authority, err := os.ReadFile(n.tls.Authority)
	if err != nil {
		return nil, err
	}
	own, err := tls.LoadX509KeyPair(n.tls.Client, n.tls.ClientKey)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("no certificate in %s", n.tls.Authority)
	}
	return &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}}, nil
}

// makeTLS writes certificates into a directory, unless it has them.
func makeTLS(dir, host string) (*tlsFiles, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	f := &tlsFiles{
		Authority: in("authority.pem"), KeyAndChain: in("node.pem"),
		Client: in("client.pem"), ClientKey: in("client-key.pem"),
	}
	if _, err := os.Stat(f.ClientKey); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	a, err := newAuthority()
	if err != nil {
		return nil, err
	}
	node, nodeKey, err := a.issue(2, host)
	if err != nil {
		return nil, err
	}
	client, clientKey, err := a.issue(3, host)
	if err != nil {
		return nil, err
	}
	return f, errors.Join(
		os.WriteFile(f.Authority, a.pem, 0o644),
		os.WriteFile(f.KeyAndChain, append(append(nodeKey, node...), a.pem...), 0o600),
		os.WriteFile(f.Client, client, 0o644),
		os.WriteFile(f.ClientKey, clientKey, 0o600),
	)
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority() (*authority, error) {
	form := certificate(1, "authority of a test")
	form.IsCA, form.BasicConstraintsValid = true, true
	form.KeyUsage = x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	return &authority{parsed, key, inPEM("CERTIFICATE", der)}, err
}

// issue makes a certificate for a host, to serve and to ask with, and its key.
func (a *authority) issue(serial int64, host string) (certificatePEM, keyPEM []byte, err error) {
	form := certificate(serial, host)
	form.IPAddresses = []net.IP{net.ParseIP(host)}
	form.KeyUsage = x509.KeyUsageDigitalSignature
	form.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, form, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	return inPEM("CERTIFICATE", der), inPEM("PRIVATE KEY", keyDER), err
}

// certificate is valid for longer than any directory of a test.
func certificate(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2099, time.January, 1, 0, 0, 0, 0, time.UTC),
	}
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
