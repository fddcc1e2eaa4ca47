package httpapi

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
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
	case reflect.Uint8:
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
	case reflect.Struct:
		for i := range v.NumField() {
			r.fill(t, v.Field(i))
		}
	default:
		t.Fatalf("fill %s", v.Type())
	}
}

// TestWrittenAsByEncodingJSON: answers have the bytes that encoding/json would write.
func TestWrittenAsByEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	r, api, p := random{rand.New(rand.NewPCG(seed, 0))}, &API{}, paper{}
	for _, value := range []any{
		&andon.Event{}, &andon.Reading{}, &andon.MetricReading{}, &entryJSON{}, &recordJSON{},
		&client.Name{}, &client.Swept{}, &client.Device{}, &statesJSON{},
		&client.StateCount{}, &client.Interval{}, &assignmentJSON{},
	} {
		for range 3000 {
			v := reflect.ValueOf(value).Elem()
			v.SetZero()
			r.fill(t, v)
			var want bytes.Buffer
			encoder := json.NewEncoder(&want)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(value); err != nil {
				t.Fatal(err)
			}
			if !p.json(api, value) {
				t.Fatalf("%T is left to encoding/json", value)
			}
			if got := string(p.text) + "\n"; got != want.String() {
				t.Fatalf("seed %d: %T:\n got %swant %s", seed, value, got, want.Bytes())
			}
		}
	}
}

func FuzzWrittenText(f *testing.F) {
	f.Add("plain")
	f.Add("a\xffb\u2028\"")
	f.Fuzz(func(t *testing.T, text string) {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text); err != nil {
			t.Fatal(err)
		}
		if got := append(appendText(nil, text), '\n'); string(got) != want.String() {
			t.Errorf("got %s, want %s", got, want.Bytes())
		}
		if !json.Valid([]byte(text)) {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := appendCompact(nil, text); string(got) != compact.String() {
			t.Errorf("compact: got %s, want %s", got, compact.Bytes())
		}
	})
}

// TestValuesAsByStrconv: of few digits and of many, small and large.
func TestValuesAsByStrconv(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	check := func(x float64) {
		got, want := string(appendValue(nil, x)), strconv.FormatFloat(x, 'g', -1, 64)
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, x := range []float64{
		0, math.Copysign(0, -1), 1, 0.001, 0.0009, 0.0005, 999_999.999, 999_999.9999, 999_999,
		1e6, 1_234_567, 1e126, 1e-130, math.Nextafter(0.1, 1), math.Nextafter(999_999.999, 0),
	} {
		check(x)
		check(-x)
	}
	for range 20_000 {
		decimal := float64(dice.Int64N(1e10)) / 1000
		check(decimal)
		check(math.Nextafter(decimal, 1e9))
		check(dice.NormFloat64() * 1000)
		check(math.Round(dice.NormFloat64()*10_000) / 100)
	}
}
