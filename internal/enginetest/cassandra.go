package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Version is that of the Cassandra that is started.
const Version = "5.0.9"

// The user and the password that a secured node begins with.
const (
	User     = "cassandra"
	Password = "cassandra"
)

// longestSilence is how long a node that starts may write nothing into its log. A slow machine
// takes longer to start, and continues to write.
const longestSilence = 2 * time.Minute

// Options are what a node may have of its own; the zero value is what most tests want.
type Options struct {
	// Dir keeps data, configuration and log. In a directory that a node ran in before it continues
	// with its data. Empty: a temporary one, which goes with Discard.
	Dir string
	// Addr is where CQL answers; port 0 takes a free one. Empty: 127.0.0.1:0. The host has to be of
	// the loopback.
	Addr string
	// Heap is the most that the JVM's may grow to, "768m" unless it is given.
	Heap string
	// Brief is for a node that ends after some minutes: it starts with half the CPU, and does not
	// spend any on getting fast, which takes it a third of all in that time. It is not to be
	// measured.
	Brief bool
	// Forgetful is for a node that nobody kills: it syncs its log every ten seconds, and does not
	// flush a change of the schema, which makes one take a third of the time, about 80 ms. If it is
	// killed, it has forgotten such changes and the last writes.
	Forgetful bool
	// Secured makes a node as careful operators set it up: it answers TLS only, see Node.TLS, asks
	// for certificates, and for User and Password, and has materialised views disabled.
	Secured bool

	ring place // of a node in a ring
}

// place is where a node is in a ring; the zero value is a node alone.
type place struct {
	token int64
	seed  string // host of the node to ask first
	ports ports
}

func (o Options) withDefaults() Options {
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:0")
	o.Heap = cmp.Or(o.Heap, "768m")
	return o
}

// Node is one Cassandra. Its methods may be called concurrently.
type Node struct {
	options Options
	address string
	seed    string // address of the node to ask first, at its port Storage
	ports   ports
	java    string
	jars    string
	passing bool // the directory is temporary
	tls     *tlsFiles

	mu      sync.Mutex
	process *process // nil: never started here
	unlock  func()   // the directory
}

// StartCassandra starts a node and returns once it answers. The context bounds the start, not the
// life of the node. The first start on a machine fetches the engine.
func StartCassandra(ctx context.Context, o Options) (*Node, error) {
	n, err := newNode(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := n.Start(ctx); err != nil {
		n.Discard()
		return nil, err
	}
	return n, nil
}

// newNode prepares all that a node needs, and starts nothing.
func newNode(ctx context.Context, o Options) (*Node, error) {
	n := &Node{options: o.withDefaults()}
	var err error
	if n.options.Dir == "" {
		n.passing = true
		if n.options.Dir, err = os.MkdirTemp("", "andon-cassandra-"); err != nil {
			return nil, err
		}
	}
	if n.options.Dir, err = filepath.Abs(n.options.Dir); err != nil {
		return nil, err
	}
	if err = n.choose(); err != nil {
		err = fmt.Errorf("configure Cassandra in %s: %w", n.options.Dir, err)
	} else if n.java, n.jars, err = install(ctx); err != nil {
		err = fmt.Errorf("install Cassandra %s: %w", Version, err)
	}
	if err != nil {
		n.Discard()
		return nil, err
	}
	return n, nil
}

// Addr is where the node answers CQL, as host:port.
func (n *Node) Addr() string { return n.address }

// Start starts a node that was stopped or killed, on its ports and its data, and returns once it
// answers. It does nothing where the node runs.
func (n *Node) Start(ctx context.Context) error {
	if err := n.launch(); err != nil {
		return err
	}
	return n.wait(ctx)
}

func (n *Node) launch() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process.running() {
		return nil
	}
	n.release() // it may have ended by itself
	if err := os.MkdirAll(n.options.Dir, 0o700); err != nil {
		return err
	}
	unlock, err := tryLock(n.path(lockFile))
	if err != nil {
		return fmt.Errorf("a node runs in %s: %w", n.options.Dir, err)
	}
	n.unlock = unlock
	if err = n.configure(); err == nil {
		err = n.run()
	}
	if err != nil {
		n.release()
		return fmt.Errorf("start a node in %s: %w", n.options.Dir, err)
	}
	return nil
}

// release lets others have the directory, where the node has it.
func (n *Node) release() {
	if n.unlock != nil {
		n.unlock()
		n.unlock = nil
	}
}

// run starts the JVM, with what it prints in a file.
func (n *Node) run() error {
	if err := n.ports.free(n.host()); err != nil {
		return fmt.Errorf("another program took a port: %w", err)
	}
	output, err := os.OpenFile(n.path("log", "stdout"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer output.Close() // the process has its own
	args, err := n.arguments()
	if err != nil {
		return err
	}
	cmd := exec.Command(n.java, args...)
	cmd.Dir = n.options.Dir
	cmd.Stdout, cmd.Stderr = output, output
	n.process, err = startProcess(cmd)
	return err
}

// wait waits until a node answers, or ended, or has been silent for too long.
func (n *Node) wait(ctx context.Context) error {
	n.mu.Lock()
	ctx, cancel := n.process.whileRunning(ctx)
	n.mu.Unlock()
	defer cancel(nil)
	logged, silent := n.logged(), time.Duration(0)
	err := eventually(ctx, func(ctx context.Context) error {
		silent += probeEvery
		if now := n.logged(); now != logged {
			logged, silent = now, 0
		} else if silent > longestSilence {
			cancel(fmt.Errorf("it has logged nothing for %s", longestSilence))
		}
		return n.probe(ctx)
	})
	if err != nil {
		return fmt.Errorf("wait for Cassandra on %s: %w; its log ends with\n%s",
			n.address, err, n.LogTail(20))
	}
	return nil
}

// Wait waits until a node that was started has ended, by itself or by another process.
func (n *Node) Wait(ctx context.Context) error {
	n.mu.Lock()
	ended := n.process.ended
	n.mu.Unlock()
	select {
	case <-ended.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop ends a node as its operators do: it writes out what it has first.
func (n *Node) Stop() error { return n.end(syscall.SIGTERM) }

// Kill ends a node by SIGKILL: it can do nothing more.
func (n *Node) Kill() error { return n.end(syscall.SIGKILL) }

// Restart stops a node, where it runs, and starts it again.
func (n *Node) Restart(ctx context.Context) error {
	if err := n.Stop(); err != nil {
		return err
	}
	return n.Start(ctx)
}

// end sends a signal and returns once the process is gone. Nothing is done where it is gone
// already.
func (n *Node) end(signal syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.release()
	return n.process.end(signal)
}

// Discard kills a node, and removes its directory if that is temporary.
func (n *Node) Discard() {
	_ = n.Kill() // the node is not needed any more
	if n.passing {
		_ = os.RemoveAll(n.options.Dir)
	}
}

func (n *Node) path(names ...string) string {
	return filepath.Join(append([]string{n.options.Dir}, names...)...)
}

func (n *Node) host() string {
	host, _, _ := net.SplitHostPort(n.address)
	return host
}
