package doctor

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/storecheck"
)

// examineServer looks at a running server: first from outside, then by using it.
func (d *doctor) examineServer(ctx context.Context) error {
	d.report.Target = "the server at " + d.URL
	token, err := command.ReadTokenFile(d.TokenFile)
	if err != nil {
		return err
	}
	tenant := andon.TenantID("andon-check-" + rand.Text() + "-clock")
	c, err := client.New(client.Options{
		URL: d.URL, Tenant: tenant, Token: token, Attempts: d.Attempts, HTTP: command.Impatient(),
	})
	if err != nil {
		return andon.Errorf(andon.Invalid, "%w", err)
	}
	defer c.Close()
	d.report.add(unsafeWay(d.URL, token != "")...)
	if d.reach(ctx, &visit{c, strings.TrimSuffix(d.URL, "/"), token}) {
		d.askServer(ctx, c, tenant)
	}
	return nil
}

// askServer runs scenarios in tenants that are deleted however that ends. One more is for the
// clock.
func (d *doctor) askServer(ctx context.Context, c *client.Client, clock andon.TenantID) {
	server := overHTTP{client: c, asked: new(atomic.Int64)}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err := server.DeleteTenant(ctx, clock)
		if err != nil && andon.KindOf(err) != andon.NotFound {
			d.report.fail("checks", "delete the throwaway tenant", err.Error(), "",
				"Delete it yourself: andon tenant delete "+string(clock))
		}
	}()
	err := server.MakeTenant(ctx, clock)
	if err == nil {
		_, err = server.Now(ctx)
	}
	if err != nil {
		d.report.fail("checks", "use a tenant", err.Error(), overHTTPSource,
			"Nothing can be checked without one. The log of the server has more.")
		return
	}
	checks := checking{
		doctor: d, source: overHTTPSource, all: len(d.asks),
		advice: "The log of the server may say more; andon doctor on its store, while it is " +
			"stopped, tells whether the store or the way to it is at fault.",
	}
	checks.run(ctx, func(report func(storecheck.Result)) error {
		how := storecheck.Asking{Full: d.full, Patience: d.patience}
		return storecheck.Ask(ctx, server, d.asks, how, report)
	})
}

const overHTTPSource = "storecheck over HTTP, in throwaway tenants"

// unsafeWay warns where others on the way could read along.
func unsafeWay(address string, token bool) []finding {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" ||
		net.ParseIP(u.Hostname()).IsLoopback() {
		return nil
	}
	f := finding{
		Status: warning, Area: "network", What: "encryption", Source: "--url",
		Found: "none: what is sent can be read on the way",
		Advice: "Give the server a certificate (--tls-cert, --tls-key), or a proxy in front that " +
			"has one.",
	}
	if token {
		f.Found += ", the token too"
	}
	return []finding{f}
}

// visit is the doctor at a server.
type visit struct {
	*client.Client
	url   string
	token string
}

// reach asks whether anybody is there at all, and what the server says of itself. Where it can't
// serve, using it would only tell the same again.
func (d *doctor) reach(ctx context.Context, v *visit) bool {
	version, err := v.Version(ctx)
	if err != nil {
		d.report.fail("server", "reach", firstLine(d.Explain(err)), "GET /version",
			afterFirstLine(d.Explain(err)))
		return false
	}
	d.report.add(
		finding{well, "server", "version", version.Version, "GET /version", ""},
		finding{well, "server", "store", version.Store, "GET /version", ""})
	if err := v.Ready(ctx); err != nil {
		d.report.fail("server", "ready", err.Error(), "GET /readyz",
			"It answers but can't serve: the message says why, and so does its log.")
		return false
	}
	d.report.add(finding{well, "server", "ready", "yes", "GET /readyz", ""})
	d.examineMetrics(ctx, v)
	d.findTenants(ctx, v)
	return true
}

// findTenants finds the throwaway tenants of others, as findLeftovers does in a store.
func (d *doctor) findTenants(ctx context.Context, v *visit) {
	var left []string
	n := 0
	for t, err := range v.Tenants(ctx) {
		if err != nil {
			d.report.fail("server", "tenants", err.Error(), "GET /api/v1/tenants",
				"See the log of the server.")
			return
		}
		n++
		if throwaway.MatchString(string(t.Tenant)) {
			left = append(left, string(t.Tenant))
		}
	}
	d.report.add(finding{well, "server", "tenants", fmt.Sprint(n), "GET /api/v1/tenants", ""})
	d.report.leftovers(left)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// afterFirstLine is what to do, where an error says so.
func afterFirstLine(err error) string {
	if _, rest, ok := strings.Cut(err.Error(), "\n"); ok {
		return rest
	}
	return "Is it the right address, and is the server running?"
}

// examineMetrics reads /metrics: the clock from its header, limits and disk from what it says.
func (d *doctor) examineMetrics(ctx context.Context, v *visit) {
	values, server, err := v.metrics(ctx)
	if err != nil {
		d.report.warn("server", "metrics", err.Error(), "GET /metrics",
			"Limits and disk of the server were not looked at.")
		return
	}
	if !server.IsZero() {
		d.report.add(clockBeside(d.Now().Std(), server))
	}
	d.report.add(metricFindings(values)...)
}

// metrics reads the metrics that have no labels, and the time of the server.
func (v *visit) metrics(ctx context.Context) (map[string]float64, time.Time, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+"/metrics", nil)
	if err != nil {
		return nil, time.Time{}, err
	}
	if v.token != "" {
		r.Header.Set("Authorization", "Bearer "+v.token)
	}
	answer, err := (&http.Client{Timeout: 30 * time.Second}).Do(r)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read metrics: %w", errors.Unwrap(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, time.Time{}, fmt.Errorf("read metrics: HTTP %d", answer.StatusCode)
	}
	now, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		now = time.Time{} // a proxy may have taken it away
	}
	return plainMetrics(io.LimitReader(answer.Body, 16<<20)), now, nil
}

// plainMetrics reads "name value" from the text format of Prometheus; the rest is passed over.
func plainMetrics(text io.Reader) map[string]float64 {
	values := map[string]float64{}
	for lines := bufio.NewScanner(text); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			values[name] = v
		}
	}
	return values
}

// clockBeside compares two clocks. The header has whole seconds, and the answer was under way.
func clockBeside(here, server time.Time) finding {
	apart := here.Sub(server).Abs().Round(time.Second)
	f := finding{
		Status: well, Area: "clock", What: "beside this machine's", Source: "the Date of an answer",
		Found: "the same",
	}
	if apart > 5*time.Second {
		f.Status, f.Found = warning, apart.String()+" apart"
		f.Advice = "One of the two is wrong. What devices report further ahead of the server's " +
			"clock than max_future is rejected."
	}
	return f
}

// metricFindings decides about what a server says of itself.
func metricFindings(values map[string]float64) (found []finding) {
	if limit := values["process_max_fds"]; limit > 0 {
		open := values["process_open_fds"]
		f := finding{
			Status: well, Area: "limits", What: "open files",
			Found:  fmt.Sprintf("%.0f of at most %.0f", open, limit),
			Source: "process_open_fds, process_max_fds",
		}
		if limit < 2048 || open > limit*0.8 {
			f.Status, f.Advice = warning, "Raise it: LimitNOFILE=65536 in the unit of the server."
		}
		found = append(found, f)
	}
	return append(found, metricRoom(values)...)
}

func metricRoom(values map[string]float64) []finding {
	disk, known := values["andon_disk_free_bytes"]
	if !known {
		return nil
	}
	reserve, all := values["andon_disk_reserve_bytes"], values["andon_disk_size_bytes"]
	f := finding{
		Status: well, Area: "disk", What: "room", Source: "andon_disk_free_bytes",
		Found: fmt.Sprintf("%s free of %s, %s in reserve",
			draw.Bytes(uint64(disk)), draw.Bytes(uint64(all)), draw.Bytes(uint64(reserve))),
	}
	if disk < 4*reserve || disk < all/10 {
		f.Status = warning
		f.Advice = "Make room before it is needed: below the reserve writes are refused with 507."
	}
	return []finding{f}
}
