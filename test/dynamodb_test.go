package test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon/internal/enginetest"
)

// TestSerialDynamoDBAnswers: the answers are those that are known of the reference's log, and of a
// fifth of the log of the escalators, imported in any order.
func TestSerialDynamoDBAnswers(t *testing.T) {
	engine := enginetest.DynamoDB(t)
	t.Log("engine: " + engine.About)
	stateLog, metro := stateLogLines(t), unitsOf(metroLog(t), 0, 5)
	settings := fmt.Sprintf("store: dynamodb\ndynamodb.prefix: program_%08x_\n", rand.Uint32())
	if engine.URL != "" {
		settings += "dynamodb.endpoint: " + engine.URL + "\ndynamodb.key: a\ndynamodb.secret: b\n"
	}
	path := filepath.Join(t.TempDir(), "andon.yaml")
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--config", path}
	out, errs, code := run(t, append([]string{"store", "init"}, flags...)...)
	if code != 0 || !strings.Contains(out, "The schema of the store dynamodb is complete") {
		t.Fatalf("store init ended with %d:\n%s%s", code, out, errs)
	}
	s := serveQuietly(t, flags...)
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
