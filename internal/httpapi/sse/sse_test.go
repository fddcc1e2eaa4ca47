package sse

import (
	"bytes"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/live"
	"github.com/andonhq/andon/internal/silence"
)

// TestLongSilence: an event that names more devices than a client reads in a line says that there
// are more, instead.
func TestLongSilence(t *testing.T) {
	for _, test := range []struct {
		devices int
		more    bool
	}{{10, false}, {4096, true}} {
		b := &live.Batch{}
		for range test.devices {
			id := andon.DeviceID(strings.Repeat("<", 128))
			b.Silence = append(b.Silence, silence.Change{Device: id, Silent: true})
		}
		s := &Stream{}
		s.silence(&Query{All: true}, b)
		more := bytes.Contains(s.text, []byte(`"more":true`))
		if len(s.text) > 2*longestEvent || more != test.more {
			t.Errorf("%d devices: %d bytes, more: %t", test.devices, len(s.text), more)
		}
	}
}
