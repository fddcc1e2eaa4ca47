package enginetest

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// Files of Cassandra; those with {{ }} are templates.
//
//go:embed cassandra
var files embed.FS

// Files of a node's directory.
const (
	setupFile = "setup.json" // see setup
	lockFile  = "lock"       // held while the node runs
)

// setup is what a node keeps from its first start to its last.
type setup struct {
	Address string // of CQL
	Ports   ports
	Token   int64
	Seed    string // address of the node to ask first, at its port Storage
	Secured bool
}

// configure writes the files that a node is started with. The setup of the directory, where it has
// one, comes before what the options say.
func (n *Node) configure() error {
	for _, dir := range []string{"conf/triggers", "log", "tmp"} {
		if err := os.MkdirAll(n.path(dir), 0o755); err != nil {
			return err
		}
	}
	s, err := n.setup()
	if err != nil {
		return err
	}
	n.address, n.ports, n.ringDelay = s.Address, s.Ports, s.ringDelay()
	if s.Secured {
		if n.tls, err = makeTLS(n.path("tls"), n.host()); err != nil {
			return err
		}
	}
	yaml := page{
		setup: s, Host: n.host(), Dir: n.options.Dir, TLS: n.tls, Forgetful: n.options.Forgetful,
	}
	return errors.Join(n.writeTemplate("cassandra.yaml", yaml),
		n.writeTemplate("logback.xml", nil))
}

// setup returns that of the directory, or else makes one.
func (n *Node) setup() (setup, error) {
	var s setup
	path := n.path(setupFile)
	switch text, err := os.ReadFile(path); {
	case err == nil:
		return s, json.Unmarshal(text, &s)
	case !errors.Is(err, fs.ErrNotExist):
		return s, err
	}
	s, err := newSetup(n.options)
	if err != nil {
		return s, err
	}
	// A port that is not to be had must not be kept.
	host, _, _ := net.SplitHostPort(s.Address)
	if err := s.Ports.free(host); err != nil {
		return s, err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return s, err
	}
	return s, os.WriteFile(path, append(text, '\n'), 0o644)
}

// ringDelay is how long a node tries to reach the one that it has to ask first. With no one to ask
// all of it is lost; with somebody it has to be enough for a node that starts, too.
func (s setup) ringDelay() time.Duration {
	host, _, _ := net.SplitHostPort(s.Address)
	if s.Seed == net.JoinHostPort(host, strconv.Itoa(s.Ports.Storage)) {
		return 100 * time.Millisecond
	}
	return 30 * time.Second
}

// newSetup chooses the ports that are not given.
func newSetup(o Options) (setup, error) {
	host, cql, err := loopback(o.Addr)
	if err != nil {
		return setup{}, err
	}
	p, seed := o.ring.ports, o.ring.seed
	if p == (ports{}) {
		seed = host
		if p, err = freePorts(host); err != nil {
			return setup{}, err
		}
	}
	if cql != 0 {
		p.CQL = cql
	}
	return setup{
		Address: net.JoinHostPort(host, strconv.Itoa(p.CQL)),
		Ports:   p, Token: o.ring.token,
		Seed: net.JoinHostPort(seed, strconv.Itoa(p.Storage)), Secured: o.Secured,
	}, nil
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

// page is what the template of cassandra.yaml is filled with.
type page struct {
	setup
	Host, Dir string
	TLS       *tlsFiles // nil: not secured
	Forgetful bool
}

func (n *Node) writeTemplate(name string, data any) error {
	text, err := fill(name, data)
	if err != nil {
		return err
	}
	return os.WriteFile(n.path("conf", name), text, 0o644)
}

// fill returns one of the files, filled.
func fill(name string, data any) ([]byte, error) {
	// What is quoted for JSON is quoted for YAML.
	quote := func(parts ...string) string { return strconv.Quote(filepath.Join(parts...)) }
	t, err := template.New(name).Funcs(template.FuncMap{"quote": quote}).
		ParseFS(files, "cassandra/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}

// options returns the lines of a file of options for the JVM.
func options(name string) (lines []string, err error) {
	text, err := files.ReadFile("cassandra/" + name)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// arguments returns those of java for a node.
func (n *Node) arguments() ([]string, error) {
	lives := "lasting.options"
	if n.options.Brief {
		lives = "brief.options"
	}
	var args []string
	for _, file := range []string{"jvm.options", "server.options", lives} {
		lines, err := options(file)
		if err != nil {
			return nil, err
		}
		args = append(args, lines...)
	}
	agents, err := filepath.Glob(filepath.Join(n.jars, "jamm-*.jar"))
	if err != nil || len(agents) != 1 {
		return nil, fmt.Errorf("want one jamm-*.jar in %s, found %q", n.jars, agents)
	}
	args = append(args, fmt.Sprintf("-Dcassandra.ring_delay_ms=%d", n.ringDelay.Milliseconds()))
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
		"-Dcassandra.jmx.local.port="+strconv.Itoa(n.ports.JMX),
		"-cp", n.path("conf")+":"+filepath.Join(n.jars, "*"),
		"org.apache.cassandra.service.CassandraDaemon"), nil
}
