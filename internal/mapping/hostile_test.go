package mapping_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/mapping"
)

// TestHostile: no message takes long, or makes much more than it is.
func TestHostile(t *testing.T) {
	const size = 1 << 16
	many := func(open, one, end string) string {
		return open + strings.Repeat(one+",", size/(len(one)+1)) + one + end
	}
	same, err := read(t, "each: $.ts\ndevice: d\nstate: A\nattributes: {all: $$.values}\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"elements":   many("[", `{"d":"d","s":"0","n":"m","v":1}`, "]"),
		"scalars":    many("[", "1", "]"),
		"members":    many("{", `"a":{}`, "}"),
		"names":      `{"values":` + many("{", `"b":1`, "}") + `,"d":"d","type":"status"}`,
		"long names": many("{", `"`+strings.Repeat("n.", 500)+`":{}`, "}"),
		"long text":  `{"type":"status","s":"A","m":"` + strings.Repeat("x", size) + `"}`,
		"shared": `{"values":{"x":"` + strings.Repeat("x", size) + `"},"ts":` +
			many("[", "{}", "]") + "}",
		"depth":     strings.Repeat(`{"a":`, size/5),
		"zeros":     strings.Repeat("\x00", size),
		"no UTF-8":  strings.Repeat("\xff", size),
		"one line":  strings.Repeat(`{"device":"d","state":"A"} `, size/27),
		"lines":     strings.Repeat(`{"device":"d","state":"A"}`+"\n", size/27),
		"bad lines": strings.Repeat("{\n", size/2),
		"numbers":   many("[", "1e999999", "]"),
	} {
		for i, m := range append(several(t), same) {
			began := time.Now()
			entries, refused := m.Map(&mapping.Message{
				Topic: "a/b", Key: "k", Value: []byte(value), Time: now,
			})
			took, bytes := time.Since(began), 0
			for _, e := range entries {
				bytes += 100
				if e.Event != nil {
					bytes += len(e.Event.Attributes) + len(e.Event.Message)
				} else {
					bytes += len(e.Reading.Metadata)
				}
			}
			what := fmt.Sprintf("%s, mapping %d: %d entries of %d bytes, %d refused, %s",
				name, i, len(entries), bytes, len(refused), took)
			t.Log(what)
			if bytes > 40<<20 || took > 10*time.Second {
				t.Error(what)
			}
		}
	}
}
