package enginetest

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
	"time"
)

// Files of engines; those with {{ }} are templates.
//
//go:embed cassandra kafka maven
var files embed.FS

// lockFile is held while a node runs in a directory.
const lockFile = "lock"

// choose chooses the ports that are not given, and the node to ask first.
func (n *Node) choose() error {
	host, cql, err := loopback(n.options.Addr)
	if err != nil {
		return err
	}
	in := n.options.ring
	if n.ports = in.ports; n.ports == (ports{}) {
		in.seed = host
		if n.ports, err = freePorts(host); err != nil {
			return err
		}
	}
	if cql != 0 {
		n.ports.CQL = cql
	}
	n.address = net.JoinHostPort(host, strconv.Itoa(n.ports.CQL))
	n.seed = net.JoinHostPort(in.seed, strconv.Itoa(n.ports.Storage))
	return n.ports.free(host)
}

func (n *Node) configure() (err error) {
	for _, dir := range []string{"conf/triggers", "log", "tmp"} {
		if err := os.MkdirAll(n.path(dir), 0o755); err != nil {
			return err
		}
	}
	if n.options.Secured {
		if n.tls, err = makeTLS(n.path("tls"), n.host()); err != nil {
			return err
		}
	}
	of := map[string]any{
		"Host": n.host(), "Dir": n.options.Dir, "Seed": n.seed, "Token": n.options.ring.token,
		"Ports": n.ports, "TLS": n.tls, "Secured": n.options.Secured,
		"Forgetful": n.options.Forgetful,
	}
	paths, err := fs.Glob(files, "cassandra/*")
	for _, path := range paths {
		text, failed := fill(path, of)
		err = errors.Join(err, failed,
			os.WriteFile(n.path("conf", filepath.Base(path)), text, 0o644))
	}
	return err
}

// ringDelay is how long a node tries to reach the one that it has to ask first. With no one to ask
// all of it is lost; with somebody it has to be enough for a node that starts, too.
func (n *Node) ringDelay() time.Duration {
	if n.seed == net.JoinHostPort(n.host(), strconv.Itoa(n.ports.Storage)) {
		return 100 * time.Millisecond
	}
	return 30 * time.Second
}

// loopback splits an address, and refuses one that other machines could reach.
func loopback(addr string) (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	if ip := net.ParseIP(host); ip == nil || ip.To4() == nil || !ip.IsLoopback() {
		return "", 0, fmt.Errorf("%s is not an address of 127.0.0.0/8", host)
	}
	if port, err = strconv.Atoi(digits); err != nil {
		return "", 0, fmt.Errorf("port of %s: %w", addr, err)
	}
	return host, port, nil
}

// fill returns a file of an engine, filled with data.
func fill(path string, data any) ([]byte, error) {
	// What is quoted for JSON is quoted for YAML.
	quote := func(parts ...string) string { return strconv.Quote(filepath.Join(parts...)) }
	t, err := template.New(filepath.Base(path)).Funcs(template.FuncMap{"quote": quote}).
		ParseFS(files, path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}

func (n *Node) arguments() ([]string, error) {
	lives := "lasting.options"
	if n.options.Brief {
		lives = "brief.options"
	}
	var args []string
	for _, file := range []string{"jvm.options", "server.options", lives} {
		args = append(args, "@"+n.path("conf", file)) // java reads it
	}
	agents, err := filepath.Glob(filepath.Join(n.jars, "jamm-*.jar"))
	if err != nil || len(agents) != 1 {
		return nil, fmt.Errorf("want one jamm-*.jar in %s, found %q", n.jars, agents)
	}
	args = append(args, fmt.Sprintf("-Dcassandra.ring_delay_ms=%d", n.ringDelay().Milliseconds()))
	if n.options.Forgetful {
		args = append(args, "-Dcassandra.test.flush_local_schema_changes=false")
	}
	return append(args,
		// It locks its memory, so what it has at first counts even where it is not used.
		"-Xms128m", "-Xmx"+n.options.Heap, "-XX:MaxDirectMemorySize="+n.options.Heap,
		"-javaagent:"+agents[0], // Cassandra measures its memtables with it
		"-Djava.io.tmpdir="+n.path("tmp"), "-Djna.tmpdir="+n.path("tmp"),
		"-Duser.home="+n.path("tmp"),
		"-XX:ErrorFile="+n.path("log", "hs_err.log"), "-XX:HeapDumpPath="+n.path("log"),
		"-Dcassandra.config=file://"+n.path("conf", "cassandra.yaml"),
		"-Dcassandra.storagedir="+n.options.Dir,
		"-Dcassandra.triggers_dir="+n.path("conf", "triggers"),
		"-Dcassandra.logdir="+n.path("log"),
		"-Dlogback.configurationFile="+n.path("conf", "logback.xml"),
		"-cp", n.path("conf")+":"+filepath.Join(n.jars, "*"),
		"org.apache.cassandra.service.CassandraDaemon"), nil
}
