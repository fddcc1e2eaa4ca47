package workbench_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/workbench"
)

// logged returns events of one device, a second apart, with what is kept with each.
func logged(attributes ...string) (all []andon.Event) {
	for i, text := range attributes {
		all = append(all, andon.Event{
			Device: "d", Time: andon.MinTime + andon.Time(i)*1_000_000, State: "NORMAL",
			Attributes: andon.JSON(text),
		})
	}
	return all
}

// TestAttributesComeBack: what is kept with an event becomes attributes, or one text where
// Workbench could not have them; either way it comes back.
func TestAttributesComeBack(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33)
	const asText = "" // they are in Attributes
	for attributes, want := range map[string]string{
		`{"a":"x","n":1.50}`:       `"a":{"S":"x"},"n":{"N":"1.50"}`,
		`{"b":true,"l":[1,"<&>"]}`: `"b":{"BOOL":true},"l":{"L":[{"N":"1"},{"S":"<&>"}]}`,
		`{"l":[null,{}]}`:          `"l":{"L":[{"NULL":true},{"M":{}}]}`,
		`{"m":{"S":"x"}}`:          `"m":{"M":{"S":{"S":"x"}}}`,
		`{"s":{"SS":["a"]}}`:       `"s":{"SS":["a"]}`,
		`{"s":{"NS":["1"]}}`:       `"s":{"NS":["1"]}`,
		`{"s":{"BS":["YQ=="]}}`:    `"s":{"BS":["YQ=="]}`,
		`{"s":{"B":"YQ=="}}`:       `"s":{"B":"YQ=="}`,
		`{"s":{"SS":[]}}`:          `"s":{"M":{"SS":{"L":[]}}}`,
		`{"n":{"N":"7"}}`:          `"n":{"M":{"N":{"S":"7"}}}`,
		`{"n":{"N":"007"}}`:        `"n":{"N":"007"}`,

		`{"a":"x","z":null}`: `"a":{"S":"x"},"Attributes":{"S":"{\"z\":null}"}`,
		`{"n":1,"State":"x","":[2]}`: `"n":{"N":"1"},` +
			`"Attributes":{"S":"{\"State\":\"x\",\"\":[2]}"}`,

		`{"m":{"M":{"SS":{"L":[{"S":"a"}]}}}}`: `"m":{"M":{"SS":{"L":[{"S":"a"}]}}}`,

		`{"z":null}`: asText, `{"":1}`: asText, `{"a":{"":1}}`: asText, `{"State":"x"}`: asText,
		`{"Attributes":"x"}`: asText, `{"a":1,"a":2}`: asText, `{"n":1e200}`: asText, `{}`: asText,
		`{"n":1.234567890123456789012345678901234567890}`: asText, deep: asText,
	} {
		all := logged(attributes)
		text := write(t, all)
		if diff := cmp.Diff(all, events(parse(t, text))); diff != "" {
			t.Errorf("%s: %s", attributes, diff)
		}
		if want == "" {
			quoted, _ := json.Marshal(attributes)
			want = `"Attributes":{"S":` + string(quoted) + `}`
		}
		got := itemText(t, text)
		want = `{"DeviceID":{"S":"d"},"State#Date":{"S":"NORMAL#1970-01-02T00:00:00"},` +
			`"Date":{"S":"1970-01-02T00:00:00"},"State":{"S":"NORMAL"},` + want + `}`
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", attributes, diff)
		}
	}
}

// itemText is the first item of a model without spaces.
func itemText(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(string(itemsOf[json.RawMessage](t, text)[0])) {
		out.WriteString(strings.Replace(strings.TrimSpace(line), `": `, `":`, 1))
	}
	return out.String()
}

// TestOneType: Workbench wants one type for each attribute. The first decides.
func TestOneType(t *testing.T) {
	all := logged(`{"v":1}`, `{"v":"x"}`, `{"v":2,"w":"y"}`)
	text := write(t, all)
	if diff := cmp.Diff(all, events(parse(t, text))); diff != "" {
		t.Error(diff)
	}
	var model struct {
		DataModel []struct {
			NonKeyAttributes []struct{ AttributeName, AttributeType string }
		}
	}
	if err := json.Unmarshal([]byte(text), &model); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range model.DataModel[0].NonKeyAttributes {
		got = append(got, a.AttributeName+" "+a.AttributeType)
	}
	want := "Operator S, Date S, State S, EscalatedTo S, v N, Attributes S, w S"
	if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
		t.Error(diff)
	}
}

// TestNoEvents: a model without entries is a model.
func TestNoEvents(t *testing.T) {
	m := parse(t, write(t, nil))
	if len(m.Items)+len(m.Rejected) > 0 {
		t.Errorf("%+v", m)
	}
}

// TestTooLong: a model is not longer than what can be read.
func TestTooLong(t *testing.T) {
	w := newWriter(t)
	e := andon.Event{Device: "d", Time: andon.MinTime, State: "A",
		Message: strings.Repeat("x", andon.MaxMessageBytes)}
	var err error
	n := 0
	for ; err == nil && n < 10_000; n++ {
		err = w.Add(&e)
	}
	if err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") || n < 1000 {
		t.Errorf("after %d: %v", n, err)
	}
	w = newWriter(t)
	e.Message, e.Attributes = "", andon.JSON(`{"a":[`+strings.Repeat("0,", 5000)+"0]}")
	for range 240 {
		if err := w.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	err = w.Write(io.Discard)
	if err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Error(err)
	}
}

func newWriter(t *testing.T) *workbench.Writer {
	t.Helper()
	w, err := writerOf(false, 1_587_739_200_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// writerOf returns a Writer of a new model.
func writerOf(ofReadings bool, now andon.Time) (*workbench.Writer, error) {
	m, err := workbench.New(ofReadings, now)
	if err != nil {
		return nil, err
	}
	return m.Refill(ofReadings, now)
}
