package measure

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/bench/peer"
	"github.com/andonhq/andon/internal/cli/command"
)

const ours = "server" // the subject that is compared with the others

// measureServer measures a running server in a throwaway tenant and, where that is on this machine,
// the peers in turn with it.
func (b *benchmark) measureServer(ctx context.Context, dir string) error {
	token, err := command.ReadTokenFile(b.target.TokenFile)
	if err != nil {
		return err
	}
	b.target.URL, b.target.Tenant = command.WithScheme(b.target.URL), string(b.options.Tenant)
	b.target.Attempts = command.AttemptsWaiting
	return b.target.Ask(ctx, func(c *client.Client) error {
		version, err := c.Version(ctx)
		if err == nil {
			// The fleet's readings are of a year that is past.
			_, err = c.PutTenant(ctx, b.options.Tenant, client.TenantChange{
				ReadingsRetention: new(andon.Forever),
			})
		}
		if err != nil {
			return err
		}
		defer b.tidyServer(context.WithoutCancel(ctx), c)
		b.report.Engines = append(b.report.Engines, benchEngine{ours, version.Store})
		defer b.showSteps(ours, 0)()
		server := newServer(ours, b.target.URL, token, b.options.Tenant)
		server.Able = bench.Answers | bench.TakesReadings | bench.AnswersReadings
		peers, end, err := b.startPeers(ctx, dir)
		defer end()
		if err != nil {
			return err
		}
		b.report.Rows, err = bench.MeasureServers(ctx,
			append([]bench.Server{server}, peers...), b.options)
		bench.Beside(b.report.Rows, ours, bench.Ceilings{
			Raw: peer.Raw, Writes: "peer key", Asks: "peer keys",
		})
		return err
	})
}

// tidyServer deletes the tenant of the run, unless it is to be kept.
func (b *benchmark) tidyServer(ctx context.Context, c *client.Client) {
	if b.keep != "" {
		fmt.Fprintf(b.Stderr, "Kept: tenant %s of the server\n", b.options.Tenant)
		return
	}
	if err := c.DeleteTenant(ctx, b.options.Tenant); err != nil {
		fmt.Fprintf(b.Stderr, "Note: tenant %s is left behind: %s\n", b.options.Tenant, err)
	}
}

// newServer returns a server at an address.
func newServer(name, address, token string, tenant andon.TenantID) bench.Server {
	head := ""
	if token != "" {
		head += "Authorization: Bearer " + token + "\r\n"
	}
	if tenant != "" {
		head += "Andon-Tenant: " + string(tenant) + "\r\n"
	}
	dial := func(ctx context.Context) (bench.Conn, error) { return dial(ctx, address, head) }
	return bench.Server{
		Name: name, Dial: dial,
		Usage: func(ctx context.Context) (bench.Usage, error) { return readUsage(ctx, dial) },
	}
}

// conn is a connection of HTTP/1.1. The client of net/http would take as much of the processor as
// the server that is measured.
type conn struct {
	net.Conn
	reader *bufio.Reader
	head   string // lines behind the first
	sent   []byte
	body   bytes.Buffer
}

func dial(ctx context.Context, address, head string) (*conn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "--url: %w", err)
	}
	var d interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	port := "80"
	if u.Scheme == "https" {
		d, port = &tls.Dialer{Config: &tls.Config{NextProtos: []string{"http/1.1"}}}, "443"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return &conn{
		Conn: c, reader: bufio.NewReaderSize(c, 64<<10), head: "Host: " + u.Host + "\r\n" + head,
	}, nil
}

func (c *conn) Do(_ context.Context, method, path string, body []byte) ([]byte, error) {
	const patience = time.Minute
	b := append(append(append(c.sent[:0], method...), ' '), path...)
	b = append(append(b, " HTTP/1.1\r\n"...), c.head...)
	if method != http.MethodGet {
		form := "application/json"
		if bytes.HasSuffix(body, []byte("\n")) {
			form = "application/x-ndjson" // lines
		}
		b = append(append(append(b, "Content-Type: "...), form...), "\r\nContent-Length: "...)
		b = append(strconv.AppendInt(b, int64(len(body)), 10), "\r\n"...)
	}
	c.sent = append(append(b, "\r\n"...), body...)
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := c.Write(c.sent); err != nil {
		return nil, fmt.Errorf("send to the server: %w", err)
	}
	r, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	defer r.Body.Close()
	c.body.Reset()
	if _, err := c.body.ReadFrom(r.Body); err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	if r.StatusCode != http.StatusOK {
		return nil, andon.Errorf(andon.Unavailable, "the server answered %s to %s %s: %s",
			r.Status, method, path, strings.TrimSpace(c.body.String()))
	}
	return c.body.Bytes(), nil
}

// readUsage reads what a server shows at /metrics.
func readUsage(
	ctx context.Context, dial func(context.Context) (bench.Conn, error),
) (u bench.Usage, err error) {
	c, err := dial(ctx)
	if err != nil {
		return u, err
	}
	defer func() { _ = c.Close() }()
	text, err := c.Do(ctx, http.MethodGet, "/metrics", nil)
	for line := range strings.SplitSeq(string(text), "\n") {
		name, value, _ := strings.Cut(line, " ")
		x, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name {
		case "process_cpu_seconds_total":
			u.CPU = time.Duration(x * float64(time.Second))
		case "process_resident_memory_bytes":
			u.Memory = int64(x)
		case "andon_pebble_written_bytes_total":
			u.Written = int64(x)
		case "andon_pebble_disk_bytes":
			u.Kept = int64(x)
		}
	}
	return u, err
}

// startPeers starts the peers as processes of their own, so that what they use is known.
func (b *benchmark) startPeers(
	ctx context.Context, dir string,
) (peers []bench.Server, end func(), err error) {
	var stops []func()
	end = func() {
		for _, stop := range stops {
			stop()
		}
	}
	if !b.peers {
		return nil, end, nil
	}
	for _, kind := range peer.Kinds() {
		address, stop, err := startPeer(ctx, kind, filepath.Join(dir, kind))
		if err != nil {
			return nil, end, fmt.Errorf("start the peer %q: %w", kind, err)
		}
		stops = append(stops, stop)
		p := newServer("peer "+kind, address, "", "")
		p.Able = peer.Able(kind)
		peers = append(peers, p)
	}
	db, err := peer.Open(filepath.Join(dir, "raw"))
	if err != nil {
		return nil, end, err
	}
	stops = append(stops, func() { _ = db.Close() }) // it is removed
	return append(peers, peer.NewRaw(db)), end, nil
}

// startPeer starts a peer, which ends with its standard input.
func startPeer(ctx context.Context, kind, dir string) (address string, stop func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, program, "bench", "peer", kind, dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Wait() // that it was ended is no news
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, err
	}
	return strings.TrimSpace(line), stop, nil
}

// peerCommand is what startPeer starts.
func peerCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "peer kind directory", Hidden: true, Args: cobra.ExactArgs(2),
		Short: "Serve what a server is measured beside",
	}
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		var config net.ListenConfig
		l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Fprintf(p.Stdout, "http://%s\n", l.Addr())
		go func() {
			_, _ = io.Copy(io.Discard, p.Stdin)
			_ = l.Close()
		}()
		return peer.Serve(l, args[0], args[1])
	})
	return cmd
}
