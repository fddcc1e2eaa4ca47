package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/cli/command"
)

// printed is standard output that a test waits for.
type printed struct {
	*testing.T
	parts chan string
	text  string
}

func (p *printed) Write(text []byte) (int, error) {
	p.parts <- string(text)
	return len(text), nil
}

// has waits until a text was printed.
func (p *printed) contains(want string) {
	p.Helper()
	const timeout = time.Minute
	for !strings.Contains(p.text, want) {
		select {
		case part := <-p.parts:
			p.text += part
		case <-time.After(timeout):
			p.Fatalf("no %q in %s", want, p.text)
		}
	}
}

// TestWatchFollowsTheStream: each change is printed at once, also what is over again before the
// server would be asked.
func TestWatchFollowsTheStream(t *testing.T) {
	s, out := newTestServer(t), &printed{T: t, parts: make(chan string, 100)}
	s.Sends("/events", `{"device":"a","time":"2020-04-24T14:00:00Z","state":"NORMAL"}`)
	p := &command.Program{Stdout: out, Stderr: io.Discard, Now: s.Clock}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- run(ctx, p, []string{"watch", "--url", s.URL}) }()
	out.contains(": 1 device\n")
	for i, e := range []string{"a WARNING1", "a NORMAL", "b NORMAL", "b WARNING2"} {
		device, state, _ := strings.Cut(e, " ")
		s.Sends("/events", fmt.Sprintf(
			`{"device":%q,"time":"2020-04-24T14:00:%02dZ","state":%q}`, device, i+1, state))
	}
	out.contains("a NORMAL → WARNING1 for 59m59s\n")
	out.contains("a WARNING1 → NORMAL for 59m58s\n")
	out.contains("b NORMAL for 59m57s\n")
	out.contains("b NORMAL → WARNING2 for 59m56s\n")
	if _, err := s.Client("").Retire(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	out.contains("b is not listed any more, was WARNING2\n")
	end()
	if code := <-ended; code != 0 {
		t.Errorf("it ended with %d", code)
	}
}
