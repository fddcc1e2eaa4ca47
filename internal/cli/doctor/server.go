package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/seq"
)

// examineServer checks a running server: first what it reports about itself, then a round trip.
func (d *doctor) examineServer(ctx context.Context) error {
	d.report.Target = "the server at " + d.URL
	d.Tenant = "andon-check-" + rand.Text()
	return d.Ask(ctx, func(c *client.Client) error {
		d.report.add(unencrypted(d.URL, d.TokenFile != "")...)
		if d.reach(ctx, c) {
			d.runRoundTrip(ctx, c, andon.TenantID(d.Tenant))
		}
		return nil
	})
}

// runRoundTrip runs the steps in a tenant that it deletes in every case.
func (d *doctor) runRoundTrip(ctx context.Context, c *client.Client, tenant andon.TenantID) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err := c.DeleteTenant(ctx, tenant)
		if err != nil && !command.IsStatus(err, http.StatusNotFound) &&
			!command.IsUnsupported(err) {
			d.report.fail("checks", "delete the temporary tenant", err.Error(), "",
				"Delete it yourself: andon tenant delete "+string(tenant))
		}
	}()
	const anHour = andon.Duration(3_600_000_000)
	switch _, err := c.PutTenant(ctx, tenant, client.TenantChange{}); {
	case command.IsUnsupported(err):
		d.report.add(judge("checks", "not asked", "the round trip: "+oneTenant, roundTripSource))
		return
	case err != nil:
		d.report.fail("checks", "create a tenant", err.Error(), roundTripSource,
			"Nothing can be checked without one. The log of the server has more.")
		return
	}
	var right int
	var unsupported []string
	for _, s := range roundTrip(ctx, c, d.Now().Add(-anHour)) {
		err := s.within(ctx, d.timeout)
		switch {
		case ctx.Err() != nil:
			return // doctor.run reports it
		case command.IsUnsupported(err):
			unsupported = append(unsupported, s.name)
		case err != nil:
			d.report.fail("checks", s.name, err.Error(), roundTripSource, roundTripAdvice)
			d.timeout /= 2 // a server that is wrong about everything is soon done with
		default:
			right++
		}
	}
	d.report.add(judge("checks", "round trip", fmt.Sprintf("%d answers are right", right),
		roundTripSource))
	if len(unsupported) > 0 {
		d.report.add(judge("checks", "not asked", "this store can't serve: "+
			strings.Join(unsupported, "; "), roundTripSource))
	}
}

const (
	roundTripSource = "requests in a temporary tenant"
	roundTripAdvice = "The log of the server may say more. andon doctor on its store, while the " +
		"server is stopped, shows whether the store or the server is wrong."
)

// unencrypted warns if others on the network could read what is sent.
func unencrypted(address string, token bool) []finding {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" ||
		net.ParseIP(u.Hostname()).IsLoopback() {
		return nil
	}
	found := "none: others on the network can read what is sent"
	if token {
		found += ", the token too"
	}
	return []finding{judge("network", "encryption", found, "--url", problem{true, warning,
		"Give the server a certificate (--tls-cert, --tls-key), or put it behind a proxy that " +
			"has one."})}
}

// reach reports whether the server answers and is ready, and adds what it reports about itself. A
// round trip to a server that is not ready would only fail for the same reason.
func (d *doctor) reach(ctx context.Context, c *client.Client) bool {
	version, err := c.Version(ctx)
	if err != nil {
		found, advice, _ := strings.Cut(d.Explain(err).Error(), "\n")
		d.report.fail("server", "reach", found, "GET /version",
			cmp.Or(advice, "Is it the right address, and is the server running?"))
		return false
	}
	d.report.add(
		judge("server", "version", version.Version, "GET /version"),
		judge("server", "store", version.Store, "GET /version"))
	if err := c.Ready(ctx); err != nil {
		d.report.fail("server", "ready", err.Error(), "GET /readyz",
			"It answers but can't serve: the message says why, and so does its log.")
		return false
	}
	d.report.add(judge("server", "ready", "yes", "GET /readyz"))
	d.examineMetrics(ctx, c)
	d.countTenants(ctx, c)
	return true
}

func (d *doctor) countTenants(ctx context.Context, c *client.Client) {
	const source = "GET /api/v1/tenants"
	all, err := seq.Collect(c.Tenants(ctx))
	if err != nil {
		d.report.fail("server", "tenants", err.Error(), source, "See the log of the server.")
		return
	}
	d.report.add(judge("server", "tenants", fmt.Sprint(len(all)), source))
}

// examineMetrics reads /metrics: limits and disk, and the clock from the head of the answer.
func (d *doctor) examineMetrics(ctx context.Context, c *client.Client) {
	values, at, err := c.ServerMetrics(ctx)
	if err != nil {
		d.report.add(judge("server", "metrics", err.Error(), "GET /metrics", problem{true, warning,
			"Limits and disk of the server were not checked."}))
		return
	}
	if !at.IsZero() {
		d.report.add(clockDifference(d.Now().Std(), at))
	}
	d.report.add(metricFindings(values)...)
}

// clockDifference compares two clocks. The header has whole seconds, and the answer took time.
func clockDifference(here, server time.Time) finding {
	apart := here.Sub(server).Abs().Round(time.Second)
	return judge("clock", "difference from this machine", apart.String(), "the Date of an answer",
		problem{apart > 5*time.Second, warning, "One of the two is wrong. Entries further ahead " +
			"of the server's clock than max_future are rejected."})
}

func metricFindings(values map[string]float64) (found []finding) {
	if limit := values["process_max_fds"]; limit > 0 {
		open := values["process_open_fds"]
		found = append(found, judge("limits", "open files",
			fmt.Sprintf("%.0f of at most %.0f", open, limit), "process_open_fds, process_max_fds",
			problem{limit < 2048 || open > limit*0.8, warning,
				"Raise it: LimitNOFILE=65536 in the unit of the server."}))
	}
	if free, known := values["andon_disk_free_bytes"]; known {
		found = append(found, spaceFinding(uint64(free), uint64(values["andon_disk_size_bytes"]),
			uint64(values["andon_disk_reserve_bytes"]), "andon_disk_free_bytes"))
	}
	return found
}
