package enginetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// ports are those of a node. The one after Storage is taken, too: see TLSStorage.
type ports struct {
	CQL, Storage int
}

// TLSStorage is the port for nodes that speak TLS to each other. Cassandra wants it to be free even
// where none does.
func (p ports) TLSStorage() int { return p.Storage + 1 }

// The ports to choose from lie below those that systems give to outgoing connections, so none of
// these takes one between two starts of a node.
const (
	firstPort = 20_000
	portCount = 12_000
)

// freePorts returns ports on which no one listens at any of some hosts: a few in a row, so that
// they can't be the same.
func freePorts(hosts ...string) (ports, error) {
	const attempts = 100
	for range attempts {
		first := firstPort + rand.IntN(portCount)
		if allFree(first, 3, hosts) {
			return ports{Storage: first, CQL: first + 2}, nil
		}
	}
	return ports{}, fmt.Errorf("there are no free ports on %q", hosts)
}

func allFree(first, count int, hosts []string) bool {
	for _, host := range hosts {
		for i := range count {
			if portFree(host, first+i) != nil {
				return false
			}
		}
	}
	return true
}

func portFree(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// free returns why a node on a host can't have its ports.
func (p ports) free(host string) error {
	return errors.Join(portFree(host, p.CQL), portFree(host, p.Storage),
		portFree(host, p.TLSStorage()))
}
