package test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/enginetest"
)

// TestAlertmanagerBothWays: an alert of an Alertmanager becomes the state of a device, and so does
// one of amtool. The incident of a device becomes an alert there.
func TestAlertmanagerBothWays(t *testing.T) {
	const debian = "prometheus-alertmanager"
	program := enginetest.Tool(t, debian, "alerts are sent both ways", debian)
	amtool := enginetest.Tool(t, "amtool", "it sends alerts", debian)
	dir, address, away := t.TempDir(), freeAddress(t), freeAddress(t)
	for name, text := range map[string]string{
		"mapping.yaml": `
device: $.labels.instance
state: "{$.status} {$.labels.severity}"
states: {names: {firing critical: WARNING4}, default: NORMAL}
message: $.annotations.summary
`,
		"andon.yaml": fmt.Sprintf(`
alerts: {mapping: %s/mapping.yaml}
notify: {channels: [{name: am, kind: alertmanager, url: "http://%s"}]}
`, dir, away),
		"alertmanager.yaml": fmt.Sprintf(`
route:
  receiver: none
  group_wait: 0s
  group_interval: 1s
  routes: [{receiver: andon, matchers: ["alertname=Hot"]}]
receivers:
  - name: none
  - name: andon
    webhook_configs: [{url: "http://%s/api/v2/alerts", send_resolved: true}]
`, address),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := startProgram(t, command(t, "serve", "--listen", address, "--store", "memory",
		"--log-level", "warn", "--config", filepath.Join(dir, "andon.yaml")))
	manager := &server{url: "http://" + away}
	cmd := exec.CommandContext(t.Context(), program, "--web.listen-address="+away,
		"--config.file="+filepath.Join(dir, "alertmanager.yaml"), "--cluster.listen-address=",
		"--storage.path="+filepath.Join(dir, "am"), "--log.level=error")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, patience, "Alertmanager answers", func() error {
		c, err := net.Dial("tcp", away)
		if err == nil {
			err = c.Close()
		}
		return err
	})
	add := func(to string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), amtool, append([]string{
			"--alertmanager.url=" + to, "alert", "add", "alertname=Hot", "severity=critical",
			"--annotation=summary=oil is hot"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("amtool: %v: %s", err, out)
		}
	}
	const shows, warned = "/api/v1/devices/", `"state":"WARNING4"`
	add(s.url, "instance=by-hand")
	s.await(t, shows+"by-hand", warned)
	add(manager.url, "instance=press-7")
	s.await(t, shows+"press-7", warned)

	s.send(t, "PUT", "/api/v1/people/Liz", "application/json", `{"contacts":[{"channel":"am"}]}`)
	s.send(t, "PUT", "/api/v1/policies/all", "application/json",
		`{"match":{},"steps":[{"after":"0s","to":"person Liz"}]}`)
	s.send(t, "POST", "/api/v1/events", "application/json",
		`{"device":"press-9","state":"WARNING2","message":"oil is hot"}`)
	manager.await(t, "/api/v2/alerts?filter="+strings.ReplaceAll(`device="press-9"`, `"`, "%22"),
		`"alertname":"AndonIncident"`)
}
