package live

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// summary prints now and then one line about the whole fleet of the demo.
type summary struct {
	*demo
	client  *client.Client
	printed andon.Time // when it printed last
	before  tally      // what had been sent then
}

const summaryEvery = andon.Duration(5_000_000)

// print prints a line, if it is time to.
func (s *summary) print(ctx context.Context, now andon.Time, sent tally) error {
	if s.printed != 0 && now.Sub(s.printed) < summaryEvery {
		return nil
	}
	states, _, err := s.client.States(ctx)
	if err != nil {
		return err
	}
	out := describer{Printer: s.Printer(), colours: coloursOf(states)}
	parts := []string{now.Std().Format("15:04:05")}
	for _, state := range states {
		text := strings.TrimSpace(state.Symbol + " " + draw.Legible(string(state.State)))
		parts = append(parts, out.Paint(state.Colour, text)+" "+draw.Grouped(state.Count))
	}
	if s.printed != 0 {
		seconds := now.Sub(s.printed).Seconds()
		parts = append(parts, fmt.Sprintf("%.0f events/s, %.0f readings/s",
			float64(sent.events-s.before.events)/seconds,
			float64(sent.readings-s.before.readings)/seconds))
	}
	worst, err := s.worst(ctx)
	if err != nil {
		return err
	}
	if worst.Severity > 0 {
		parts = append(parts, "worst: "+out.named(&worst, now))
	}
	s.printed, s.before = now, sent
	return printLine(s.Stdout, "%s", strings.Join(parts, "  "))
}

func (s *summary) worst(ctx context.Context) (client.Device, error) {
	next, stop := iter.Pull2(s.client.Devices(ctx, client.DeviceQuery{Sort: "severity", Page: 1}))
	defer stop()
	d, err, _ := next()
	return d, err
}
