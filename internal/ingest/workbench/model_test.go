package workbench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

// sample returns one of the real models, which are next to the repository and not in it.
func sample(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "shared", "data", filepath.FromSlash(name))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("the real input %s is not next to this checkout: %v", name, err)
	}
	return string(text)
}

func parse(t *testing.T, text string) *workbench.Model {
	t.Helper()
	m, err := workbench.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func events(m *workbench.Model) (all []andon.Event) {
	for _, item := range m.Items {
		all = append(all, item.Value)
	}
	return all
}

func write(t *testing.T, all []andon.Event) string {
	t.Helper()
	w := newWriter(t)
	for i := range all {
		if err := w.Add(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := w.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestSteps reads the seven steps of the reference, and says what each lacks.
func TestSteps(t *testing.T) {
	const (
		beginning = "State#Date, Operator, EscalatedTo, "
		both      = "index GSI1 (Operator, Date), index GSI2 (EscalatedTo, State#Date)"
	)
	lacks := []string{
		beginning + both, beginning + both, "Operator, EscalatedTo, " + both,
		"EscalatedTo, " + both, "EscalatedTo, index GSI2 (EscalatedTo, State#Date)",
		"index GSI2 (EscalatedTo, State#Date)", "",
	}
	for i, lack := range lacks {
		step := i + 1
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			m := parse(t, sample(t, fmt.Sprintf("devicestatelog/DeviceStateLog_%d.json", step)))
			if len(m.Items) != 11 || len(m.Rejected) != 0 {
				t.Fatalf("%d entries, rejected %v", len(m.Items), m.Rejected)
			}
			var notes []string
			if lack != "" {
				notes = []string{"table DeviceStateLog lacks " + lack +
					": DeviceStateLog_7, the last step, has them"}
			}
			if diff := cmp.Diff(notes, m.Notes); diff != "" {
				t.Error(diff)
			}
			last := m.Items[10].Value
			want := andon.Event{Device: "d#11223", State: "WARNING4", Time: last.Time}
			if step >= 4 {
				want.Operator = "Sue"
			}
			if step >= 6 {
				want.EscalatedTo = "Sara"
			}
			if diff := cmp.Diff(want, last); diff != "" {
				t.Error(diff)
			}
			if got := last.Time.String(); got != "2020-04-27T16:15:00Z" {
				t.Error(got)
			}
		})
	}
}

// TestStepsComeBack: what was read, written and read again is the same; and what a step has of each
// item is in the model that is written.
func TestStepsComeBack(t *testing.T) {
	for step := range 7 {
		text := sample(t, fmt.Sprintf("devicestatelog/DeviceStateLog_%d.json", step+1))
		was := parse(t, text)
		written := write(t, events(was))
		is := parse(t, written)
		if diff := cmp.Diff(events(was), events(is)); diff != "" {
			t.Errorf("step %d: %s", step+1, diff)
		}
		if len(is.Rejected) > 0 || len(is.Notes) != 0 {
			t.Errorf("step %d: rejected %v, notes %v", step+1, is.Rejected, is.Notes)
		}
		for i, item := range tableItems(t, text) {
			for name, value := range item {
				if diff := cmp.Diff(value, tableItems(t, written)[i][name]); diff != "" {
					t.Errorf("step %d, item %d, %s: %s", step+1, i, name, diff)
				}
			}
		}
	}
	seven := sample(t, "devicestatelog/DeviceStateLog_7.json")
	if diff := cmp.Diff(tableItems(t, seven),
		tableItems(t, write(t, events(parse(t, seven))))); diff != "" {
		t.Error(diff)
	}
}

func tableItems(t *testing.T, text string) []map[string]any {
	t.Helper()
	return itemsOf[map[string]any](t, text)
}

// itemsOf are the items of the first table of a model, or of its first facet.
func itemsOf[T any](t *testing.T, text string) []T {
	t.Helper()
	var model struct {
		DataModel []struct {
			TableData   []T
			TableFacets []struct{ TableData []T }
		}
	}
	if err := json.Unmarshal([]byte(text), &model); err != nil {
		t.Fatal(err)
	}
	first := model.DataModel[0]
	if len(first.TableFacets) > 0 {
		return append(first.TableData, first.TableFacets[0].TableData...)
	}
	return first.TableData
}

// TestWrittenLikeWorkbench: a model that is written has the parts that a real one of version 3.0
// with facets has, of the same types, and no other. Real ones of tables on demand have no
// ProvisionedCapacitySettings. Here the indexes have all attributes.
func TestWrittenLikeWorkbench(t *testing.T) {
	known := map[string]string{}
	always := parts(t, sample(t, "nosqlworkbench/RecurringPaymentsSchema.json"))
	for _, name := range []string{"RecurringPayments", "ConnectedVehicles", "ChatSystem"} {
		for part, kind := range parts(t, sample(t, "nosqlworkbench/"+name+"Schema.json")) {
			known[part] = kind
		}
	}
	events := []andon.Event{{
		Device: "d", Time: andon.MinTime, State: "NORMAL", Operator: "Liz", EscalatedTo: "Sara",
	}}
	for _, text := range []string{write(t, events), writeReadings(t, someReadings())} {
		written := parts(t, text)
		for part, kind := range written {
			if known[part] != kind {
				t.Errorf("%s is %s, in real models %q", part, kind, known[part])
			}
		}
		for part := range always {
			if written[part] == "" && !strings.Contains(part, "ProvisionedCapacitySettings") &&
				!strings.Contains(part, "Projection/NonKeyAttributes") &&
				!strings.Contains(part, "/*/") {
				t.Errorf("%s is missing", part)
			}
		}
	}
}

// parts returns the types of the parts of a model by their places. Attributes of items have one
// name.
func parts(t *testing.T, text string) map[string]string {
	t.Helper()
	var model any
	if err := json.Unmarshal([]byte(text), &model); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			found[path] = "object"
			for name, member := range v {
				if strings.HasSuffix(path, "TableData") {
					name = "*"
				}
				walk(path+"/"+name, member)
			}
		case []any:
			found[path] = "array"
			for _, element := range v {
				walk(path, element)
			}
			found[path] = "array"
		default:
			found[path] = fmt.Sprintf("%T", v)
		}
	}
	walk("", model)
	return found
}

// TestOtherModels are no logs: each item is accounted for, with its place.
func TestOtherModels(t *testing.T) {
	for name, want := range map[string]struct {
		items int
		place string // of the last item that is rejected
	}{
		"AnOnlineShop_facets":       {20, `table "OnlineShop", facet "payment", item 1: `},
		"ChatSystemSchema":          {8, `table "Chat", item 7: `},
		"ComplaintManagementSchema": {9, `table "Complaint_management_system", item 8: `},
		"ConnectedVehiclesSchema":   {12, `table "Connected_Vehicle", facet "User", item 5: `},
		"RecurringPaymentsSchema":   {2, `table "ReoccuringPayments", facet "Receipts", item 0: `},
		"SessionManagementSchema":   {6, `table "session_store", item 5: `},
		"SocialNetworkSchema":       {17, `table "SNS", item 16: `},
	} {
		m := parse(t, sample(t, "nosqlworkbench/"+name+".json"))
		if len(m.Items) != 0 || len(m.Rejected) != want.items {
			t.Errorf("%s: %d entries, %d rejected", name, len(m.Items), len(m.Rejected))
			continue
		}
		last := m.Rejected[want.items-1]
		const reason = `attribute "DeviceID": it is missing, so the item is of no device`
		if last.Error != want.place+reason {
			t.Errorf("%s: %s", name, last.Error)
		}
		noLog := " is no log of device states: want "
		if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], noLog) {
			t.Errorf("%s: %v", name, m.Notes)
		}
	}
	_, err := workbench.Parse(sample(t, "nosqlworkbench/AnOnlineShop_1.json"))
	want := "nothing can be imported: table OnlineShop is no log of device states: want " +
		"DeviceID and State#Date, or DeviceID, State and Date; its keys are PK, SK"
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestMalformed: maps of the connected vehicles hold values without a type.
func TestMalformed(t *testing.T) {
	m := parse(t, sample(t, "nosqlworkbench/ConnectedVehiclesSchema.json"))
	var got []string
	for _, why := range m.Rejected {
		if text, ok := strings.CutPrefix(why.Error, `table "Connected_Vehicle", facet `); ok &&
			strings.Contains(text, "want a value with its type") {
			text, _, _ = strings.Cut(text, ": want")
			text = strings.ReplaceAll(text, ".", " ")
			got = append(got, text)
		}
	}
	want := []string{
		`"Vehicle", item 1: attribute "autonomous_driving is_enabled"`,
		`"Vehicle", item 2: attribute "cameras cameras"`,
		`"Vehicle", item 3: attribute "mirrors position"`,
		`"Vehicle", item 5: attribute "cameras cameras"`,
		`"User", item 1: attribute "cameras cameras"`,
		`"User", item 2: attribute "cameras cameras"`,
		`"User", item 3: attribute "seats driver_seat"`,
		`"User", item 4: attribute "seats driver_seat"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCutOff: no beginning of a model is one.
func TestCutOff(t *testing.T) {
	text := strings.TrimSpace(sample(t, "devicestatelog/DeviceStateLog_7.json"))
	for n := range len(text) {
		_, err := workbench.Parse(text[:n])
		if err == nil || !strings.HasSuffix(err.Error(), ": unexpected end of JSON input") {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}
