package enginetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// KafkaVersion is that of the Kafka that is started.
const KafkaVersion = "4.1.0"

// Broker is one Kafka.
type Broker struct {
	Addr   string // without TLS, for everybody
	Secure string // for who shows a certificate and logs in: User and Password, by PLAIN
	// Certificate and Key are what a client of Secure shows, as PEM. It also trusts the former.
	Certificate, Key string

	dir, java, jars string
	process         *process
}

// Kafka returns a broker that all tests of a binary share. Each test makes topics of its own there.
// Otherwise it works as Cassandra does.
func Kafka(t testing.TB) *Broker {
	t.Helper()
	return asked(t, shared().kafka)
}

// OwnKafka returns a broker that a test may end. It ends with the test.
func OwnKafka(t testing.TB) *Broker {
	t.Helper()
	b := asked(t, newBroker)
	t.Cleanup(b.Discard)
	return b
}

// newBroker starts a broker in a directory of its own.
func newBroker() (b *Broker, err error) {
	ctx := context.Background()
	b = &Broker{}
	if b.java, err = findJava(ctx); err != nil {
		return nil, err
	}
	b.jars, err = cached(ctx, "kafka-"+KafkaVersion, fetchJars(
		jar{"org.apache.kafka", "kafka_2.13", KafkaVersion},
		jar{"org.apache.kafka", "kafka-tools", KafkaVersion},
		jar{"org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"}))
	if err != nil {
		return nil, fmt.Errorf("install Kafka %s: %w", KafkaVersion, err)
	}
	if b.dir, err = os.MkdirTemp("", "andon-kafka-"); err != nil {
		return nil, err
	}
	if err = b.configure(); err == nil {
		err = b.Start()
	}
	if err != nil {
		b.Discard()
	}
	return b, err
}

// configure writes the broker's files, as Kafka's own tool for that does.
func (b *Broker) configure() error {
	const host = "127.0.0.1"
	p, err := freePorts(host)
	if err != nil {
		return err
	}
	b.Addr = net.JoinHostPort(host, strconv.Itoa(p.CQL))
	b.Secure = net.JoinHostPort(host, strconv.Itoa(p.TLSStorage()))
	tls, err := makeTLS(filepath.Join(b.dir, "tls"), host)
	if err != nil {
		return err
	}
	b.Certificate, b.Key = tls.Certificate, tls.Key
	data := filepath.Join(b.dir, "data")
	text, err := fill("kafka/server.properties", map[string]any{
		"Addr": b.Addr, "Secure": b.Secure, "Ports": p, "TLS": tls, "Data": data,
		"User": User, "Password": Password,
	})
	const meta = "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=1\n"
	return errors.Join(err, os.Mkdir(data, 0o755),
		os.WriteFile(filepath.Join(data, "meta.properties"), []byte(meta), 0o644),
		os.WriteFile(filepath.Join(b.dir, "server.properties"), text, 0o644))
}

// Start starts a broker that was ended, on its ports and its data, and returns once it takes
// connections.
func (b *Broker) Start() (err error) {
	cmd := b.run("256m", "kafka.Kafka", filepath.Join(b.dir, "server.properties"))
	b.process, err = launch("Kafka "+KafkaVersion, cmd, listens(b.Addr))
	return err
}

// run is a command of Kafka's. What lives for minutes is not worth to be compiled well.
func (b *Broker) run(heap, class string, args ...string) *exec.Cmd {
	return exec.Command(b.java, append([]string{"-Xmx" + heap, "-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1", "-cp", filepath.Join(b.jars, "*"), class}, args...)...)
}

// Tool is one of Kafka's own tools, by its class, for this broker.
func (b *Broker) Tool(class string, args ...string) *exec.Cmd {
	return b.run("128m", class, append([]string{"--bootstrap-server", b.Addr}, args...)...)
}

// End ends a broker by SIGTERM, as its operators do, or by SIGKILL.
func (b *Broker) End(signal syscall.Signal) error { return b.process.end(signal) }

// Discard kills a broker, and removes its directory.
func (b *Broker) Discard() {
	_ = b.End(syscall.SIGKILL) // nothing of it is needed any more
	_ = os.RemoveAll(b.dir)
}
