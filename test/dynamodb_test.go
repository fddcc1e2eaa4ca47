package test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
)

// dynamoSettings makes tables of the test's own, and returns the file of settings that names them.
func dynamoSettings(t *testing.T) string {
	t.Helper()
	engine := enginetest.DynamoDB(t)
	t.Log("engine: " + engine.About)
	settings := fmt.Sprintf("store: dynamodb\ndynamodb.prefix: program_%08x_\n", rand.Uint32())
	if engine.URL != "" {
		settings += "dynamodb.endpoint: " + engine.URL + "\ndynamodb.key: a\ndynamodb.secret: b\n"
	}
	path := filepath.Join(t.TempDir(), "andon.yaml")
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := run(t, "store", "init", "--config", path)
	if code != 0 || !strings.Contains(out, "The schema of the store dynamodb is complete") {
		t.Fatalf("store init ended with %d:\n%s%s", code, out, errs)
	}
	return path
}

// TestSerialDynamoDBAnswers: the answers are those that are known of the reference's log, and of a
// fifth of the log of the escalators, imported in any order.
func TestSerialDynamoDBAnswers(t *testing.T) {
	stateLog, metro := stateLogLines(t), unitsOf(metroLog(t), 0, 5)
	s := serveQuietly(t, "--config", dynamoSettings(t))
	for range 2 { // the second delivery changes nothing
		s.send(t, "POST", "/api/v1/events", "application/x-ndjson", stateLog)
	}
	for _, q := range deviceStateLogAnswers {
		if diff := cmp.Diff(q.want, s.entries(t, q.path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q.path, diff)
		}
	}
	byUnit := rowsByUnit(metro)
	c := s.tenant(t, "shuffled", metroTenant)
	importMetro(t, s, "shuffled", metroOrders(metro)["shuffled"])
	checkMetroListed(t, c, byUnit)
	for i, unit := range slices.Sorted(maps.Keys(byUnit)) {
		if i%4 == 0 {
			checkUnit(t, c, unit, byUnit[unit])
		}
	}
}

// TestSerialStreamOnDynamoDB follows changes at one process while others are sent to, and killed.
// Each change arrives once, in order, and what was acknowledged within about a second.
func TestSerialStreamOnDynamoDB(t *testing.T) {
	path := dynamoSettings(t)
	reader, writer := serveQuietly(t, "--config", path), serveQuietly(t, "--config", path)
	c, err := client.New(client.Options{URL: reader.url})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	const last = 12
	next, sent := 0, time.Time{}
	send := func() {
		writer.send(t, "POST", "/api/v1/events", "application/json", fmt.Sprintf(
			`{"device":"d","time":"2026-01-01T00:00:%02dZ","state":"S%d"}`, next, next))
		sent = time.Now()
	}
	for u, err := range c.Follow(ctx, client.FollowOptions{}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case u.Kind == client.Connected && next == 0 && sent.IsZero():
			send()
			continue
		case u.Kind != client.Shows:
			continue
		}
		if want := fmt.Sprint("S", next); string(u.Device.State) != want {
			t.Fatalf("%s arrived, want %s", u.Device.State, want)
		}
		if late := time.Since(sent); late > 2*time.Second { // with what the stream waits for others
			t.Errorf("change %d arrived %s later", next, late)
		}
		if next++; next == last {
			break
		}
		if next%5 == 0 {
			writer.end(syscall.SIGKILL, -1)
			writer = serveQuietly(t, "--config", path)
		}
		send()
	}
}
