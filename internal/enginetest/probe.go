package enginetest

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// What is spoken of CQL's native protocol, version 4. A frame is
//
//	version  1 byte   0x04 of a request, 0x84 of an answer
//	flags    1 byte
//	stream   2 bytes
//	opcode   1 byte
//	length   4 bytes  of the body, which follows
const (
	version = 4
	header  = 9

	opError        = 0x00
	opStartup      = 0x01
	opReady        = 0x02
	opAuthenticate = 0x03
	opOptions      = 0x05
	opSupported    = 0x06
	opQuery        = 0x07
	opResult       = 0x08
	opAuthResponse = 0x0F
	opAuthSuccess  = 0x10
)

const (
	probeEvery  = 100 * time.Millisecond
	probeLength = 5 * time.Second
)

// answers waits until a node answers as it should, or the context is done: that comes with what the
// last attempt met.
func (n *Node) answers(ctx context.Context) error {
	return eventually(ctx, n.probe)
}

// eventually tries until it works, or the context is done.
func eventually(ctx context.Context, try func(context.Context) error) error {
	again := time.NewTicker(probeEvery)
	defer again.Stop()
	var last error
	for {
		if ctx.Err() == nil {
			err := try(ctx)
			if err == nil {
				return nil
			}
			last = err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), last)
		case <-again.C:
		}
	}
}

// probe asks for the options that the node supports; with an authenticator it logs in as well,
// since the first user is made after CQL has begun to answer.
func (n *Node) probe(ctx context.Context) error {
	c, err := n.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.ask(opOptions, nil, opSupported); err != nil {
		return fmt.Errorf("ask for options: %w", err)
	}
	if !n.options.Authenticator {
		return nil
	}
	return c.login()
}

// conn is a connection that speaks CQL.
type conn struct{ net.Conn }

func (n *Node) dial(ctx context.Context) (conn, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLength)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", n.address)
	if err != nil {
		return conn{}, err
	}
	// Nothing that is asked here takes long: what does is stuck.
	deadline, _ := ctx.Deadline()
	if err := raw.SetDeadline(deadline); err != nil {
		raw.Close()
		return conn{}, err
	}
	if n.tls == nil {
		return conn{raw}, nil
	}
	config, err := n.TLS()
	if err != nil {
		raw.Close()
		return conn{}, err
	}
	config.ServerName = n.host()
	return conn{tls.Client(raw, config)}, nil
}

// ask sends a request and returns the body of its answer, which has to be of one kind.
func (c conn) ask(op byte, body []byte, want byte) ([]byte, error) {
	frame := append([]byte{version, 0, 0, 0, op}, be32(len(body))...)
	if _, err := c.Write(append(frame, body...)); err != nil {
		return nil, err
	}
	var head [header]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	answer := make([]byte, binary.BigEndian.Uint32(head[5:]))
	if _, err := io.ReadFull(c, answer); err != nil {
		return nil, err
	}
	switch got := head[4]; {
	case got == want:
		return answer, nil
	case got == opError && len(answer) > 6: // a number, then a text with its length
		return nil, errors.New(string(answer[6:]))
	default:
		return nil, fmt.Errorf("the answer is of kind %#x, want %#x", got, want)
	}
}

// begin begins a conversation; with an authenticator, as the first user.
func (n *Node) begin(c conn) error {
	if n.options.Authenticator {
		return c.login()
	}
	_, err := c.ask(opStartup, startup(), opReady)
	return err
}

func (c conn) login() error {
	if _, err := c.ask(opStartup, startup(), opAuthenticate); err != nil {
		return fmt.Errorf("begin to log in: %w", err)
	}
	plain := "\x00" + User + "\x00" + Password
	body := append(be32(len(plain)), plain...)
	if _, err := c.ask(opAuthResponse, body, opAuthSuccess); err != nil {
		return fmt.Errorf("log in as %s: %w", User, err)
	}
	return nil
}

// startup is a map of one entry.
func startup() []byte {
	body := be16(1)
	for _, text := range []string{"CQL_VERSION", "3.0.0"} {
		body = append(append(body, be16(len(text))...), text...)
	}
	return body
}

// How many replicas have to answer.
const (
	consistencyOne = 0x0001
	consistencyAll = 0x0005
)

// query runs a statement on a connection of its own, and returns the answer as it comes.
func (n *Node) query(ctx context.Context, cql string, consistency int) ([]byte, error) {
	c, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := n.begin(c); err != nil {
		return nil, err
	}
	body := append(be32(len(cql)), cql...)
	body = append(append(body, be16(consistency)...), 0) // no values, nothing of pages
	return c.ask(opQuery, body, opResult)
}

func be16(n int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(n)) }

func be32(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
