package jsonout_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/jsonout"
)

// random fills values of all kinds that answers have.
type random struct{ *rand.Rand }

func (r random) text() string {
	odd := []string{
		"a", "Z", "é", "日本", "🙂", "\u2028", "\u2029", "\ufffd", "\xff", "\xe2\x80", `"`, `\`, "/",
		"<", ">", "&", "\x7f", "\x00", "\n", "\t", "\b", "\f", "\r", "\x1f", " ",
	}
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(odd[r.IntN(len(odd))])
	}
	if r.IntN(2) == 0 {
		return "plain"
	}
	return b.String()
}

func (r random) number() float64 {
	sizes := []float64{0, 1, -1.5, 1e-7, 1e-6, 123456789.25, 1e20, 1e21, -1e125, 1e-130, 0.1}
	return sizes[r.IntN(len(sizes))]
}

func (r random) time() andon.Time {
	times := []andon.Time{
		0, andon.MinTime, andon.MaxTime, 1_587_729_600_000_000, 1_587_729_600_123_456,
		1_587_729_600_120_000,
	}
	return times[r.IntN(len(times))]
}

func (r random) fill(t *testing.T, v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *andon.Time:
		*at = r.time()
		return
	case *andon.JSON:
		objects := []andon.JSON{
			"", "{}", `{"a": 1 , "b c":[ 1,
			2 ],"\" \\":" \" \\\\", "é<\u2028>":null}`, "{ \t\r\n}", `{"a":"\\"}`,
		}
		*at = objects[r.IntN(len(objects))]
		return
	case *andon.Metrics:
		for range r.IntN(3) {
			*at = append(*at, andon.Metric{Name: andon.MetricName(r.text()), Value: r.number()})
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(r.text())
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int:
		v.SetInt(int64(r.IntN(100_000)))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Float64:
		v.SetFloat(r.number())
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(t, v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			r.fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) { // encoding/json sorts by the names as they are
			v.SetMapIndex(reflect.ValueOf(r.text()), reflect.ValueOf(r.text()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			r.fill(t, v.Field(i))
		}
	default:
		t.Fatalf("fill %s", v.Type())
	}
}

// encoded is what encoding/json writes, without HTML escapes.
func encoded(value any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// TestAppend compares random values with encoding/json.
func TestAppend(t *testing.T) {
	seed := rand.Uint64()
	r := random{rand.New(rand.NewPCG(seed, 0))}
	for _, value := range []any{
		&andon.Event{}, &jsonout.Event{}, &andon.Arrival{}, &client.Device{}, &jsonout.States{},
		&client.Interval{}, &andon.Reading{}, &andon.MetricReading{},
	} {
		for range 3000 {
			v := reflect.ValueOf(value).Elem()
			v.SetZero()
			r.fill(t, v)
			want, err := encoded(value)
			if err != nil {
				t.Fatal(err)
			}
			got, err := jsonout.Append([]byte("before "), value)
			if string(got) != "before "+want || err != nil {
				t.Fatalf("seed %d: %T:\n got %s, %v\nwant %s", seed, value, got, err, want)
			}
		}
	}
}

// TestAppendLeaves: what is not written here is left to encoding/json.
func TestAppendLeaves(t *testing.T) {
	for _, value := range []any{&client.Name{Name: "<a>"}, andon.Event{}, nil, "<text>"} {
		want, _ := encoded(value)
		if got, err := jsonout.Append([]byte("before"), value); string(got) != "before"+want {
			t.Errorf("%#v was written: %s, %v", value, got, err)
		}
	}
	for _, value := range []any{
		&andon.Event{Attributes: `{"a":`}, &andon.Event{Attributes: `{"a":1}]`},
		&andon.Reading{Metadata: "no JSON"},
	} {
		got, err := jsonout.Append([]byte("before"), value)
		if err == nil || string(got) != "before" {
			t.Errorf("%#v was written: %s", value, got)
		}
	}
}

func FuzzAppend(f *testing.F) {
	f.Add("plain", `{"a":1}`)
	f.Add("a\xffb\u2028\"", `{ "a b": "\"" , "c":[ ] }`)
	f.Fuzz(func(t *testing.T, text, object string) {
		e := andon.Event{Message: text}
		if json.Valid([]byte(object)) {
			e.Attributes = andon.JSON(object)
		}
		want, err := encoded(&e)
		got, failed := jsonout.Append(nil, &e)
		if (failed == nil) != (err == nil) || err == nil && string(got) != want {
			t.Errorf("got %s, %v, want %s, %v", got, failed, want, err)
		}
	})
}
