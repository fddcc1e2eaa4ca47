package test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon/internal/enginetest"
)

// TestSerialWorkbenchModel: after the import of the reference's last model the answers are those
// that its README was given by hand, and its items are in the model that is exported.
func TestSerialWorkbenchModel(t *testing.T) {
	const name = "devicestatelog/DeviceStateLog_7.json"
	path := data(t, name)
	onEachStore(t, func(t *testing.T, s *server) {
		for _, args := range [][]string{{"workbench", path}, {path}} { // the second changes nothing
			out, _ := s.imported(t, 0, args...)
			if !strings.HasPrefix(out, "imported 11, rejected 0 of "+path) {
				t.Error(out)
			}
		}
		for _, q := range deviceStateLogAnswers {
			if diff := cmp.Diff(q.want, s.entries(t, q.path)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", q.path, diff)
			}
		}
	})
}

// TestSerialWorkbenchSteps: what was imported from each step of the reference, exported as a model
// and imported again is the same, byte for byte.
func TestSerialWorkbenchSteps(t *testing.T) {
	data(t, "devicestatelog/DeviceStateLog_1.json")
	s := serve(t, "pebble", t.TempDir())
	andon := func(args ...string) string {
		t.Helper()
		out, errs, code := run(t, append(args, "--url", s.url)...)
		if code != 0 {
			t.Fatalf("%v ended with %d:\n%s%s", args, code, out, errs)
		}
		return out
	}
	for n := 1; n <= 7; n++ {
		was, is := fmt.Sprintf("was-%d", n), fmt.Sprintf("is-%d", n)
		andon("tenant", "set", was)
		andon("tenant", "set", is)
		step := data(t, fmt.Sprintf("devicestatelog/DeviceStateLog_%d.json", n))
		andon("import", "workbench", "--tenant", was, step)
		model := filepath.Join(t.TempDir(), "model.json")
		andon("export", "workbench", "--tenant", was, "--output", model)
		keepsDesign(t, step, andon("export", "workbench", "--tenant", was, "--model", step))
		out := andon("import", "workbench", "--tenant", is, model)
		if !strings.Contains(out, "imported 11, rejected 0 of ") {
			t.Errorf("step %d: %s", n, out)
		}
		first := andon("export", "--tenant", was)
		if diff := cmp.Diff(first, andon("export", "--tenant", is)); diff != "" {
			t.Errorf("step %d: %s", n, diff)
		}
		if lines := strings.Count(first, "\n"); lines != 11 {
			t.Errorf("step %d has %d entries", n, lines)
		}
	}
}

// keepsDesign checks that a model was exported with the design of another, and has its items.
func keepsDesign(t *testing.T, path, exported string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(text []byte) (model map[string]any) {
		if err := json.Unmarshal(text, &model); err != nil {
			t.Fatal(err)
		}
		delete(model["ModelMetadata"].(map[string]any), "DateLastModified")
		items := model["DataModel"].([]any)[0].(map[string]any)["TableData"].([]any)
		slices.SortFunc(items, func(a, b any) int { // of a map, by its members in order
			return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
		})
		return model
	}
	if diff := cmp.Diff(read(text), read([]byte(exported))); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

// TestSerialDynamoDBWorkbench: the model that describes a table of the layout reference fills one.
func TestSerialDynamoDBWorkbench(t *testing.T) {
	path := data(t, "devicestatelog/DeviceStateLog_7.json")
	engine := enginetest.DynamoDB(t)
	t.Log("engine: " + engine.About)
	settings := fmt.Sprintf("store: dynamodb\ndynamodb.layout: reference\n"+
		"dynamodb.table: Workbench_%08x\n", rand.Uint32())
	if engine.URL != "" {
		settings += "dynamodb.endpoint: " + engine.URL + "\ndynamodb.key: a\ndynamodb.secret: b\n"
	}
	config := filepath.Join(t.TempDir(), "andon.yaml")
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := run(t, "store", "init", "--config", config); code != 0 {
		t.Fatalf("store init ended with %d:\n%s%s", code, out, errs)
	}
	s := serveQuietly(t, "--config", config)
	out, _ := s.imported(t, 0, "workbench", path)
	if !strings.Contains(out, "imported 11, rejected 0 of ") {
		t.Error(out)
	}
	for _, q := range deviceStateLogAnswers {
		if strings.HasPrefix(q.path, "devices?") || q.path == "devices" {
			continue // the layout has no list of devices
		}
		if diff := cmp.Diff(q.want, s.entries(t, q.path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q.path, diff)
		}
	}
}
