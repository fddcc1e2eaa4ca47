package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// stage shows what the server of the demo says of the factory: as a live table on a terminal, else
// as a line now and then.
type stage struct {
	*demo
	client *client.Client
	board  board
	url    string
	screen *screen // nil: there is no terminal
	every  andon.Duration

	shown  andon.Time // when it showed something last
	before tally      // what had been sent then
}

const (
	drawEvery  = andon.Duration(1_000_000)
	printEvery = andon.Duration(5_000_000)
	plainRows  = 1 // of the worst devices, in a line
)

func (d *demo) newStage(c *client.Client, url string, end func()) *stage {
	s := &stage{demo: d, client: c, url: url, every: printEvery}
	s.board = board{
		title: fmt.Sprintf("Andon demo: a simulated factory, %g times as fast as the clock",
			d.speed),
		none:  "All devices are normal.",
		links: links(url),
	}
	if s.screen = d.terminal(end); s.screen != nil {
		d.screen.Store(s.screen)
		s.every = drawEvery
		d.stderr.hold()
		return s
	}
	out := d.Printer()
	out.Heading("Look around")
	var rows [][]draw.Cell
	for _, l := range s.board.links {
		rows = append(rows, draw.Texts(l.url, l.text))
	}
	out.Table(rows)
	out.Line("")
	return s
}

// listen makes the table draw from the server's stream, as the board does.
func (s *stage) listen(ctx context.Context) (err error) {
	if s.screen != nil && s.hear != nil {
		s.board.news, err = s.hear(ctx, s.client)
	}
	return err
}

// links are where to look next.
func links(url string) []link {
	return []link{
		{url + "/", "the board, in a browser"},
		{url + "/docs", "the API, to read and try"},
		{url + "/api/v1/devices?sort=severity", "devices, the worst first"},
		{url + "/api/v1/states", "how many in each state"},
		{url + "/metrics", "the server about itself"},
	}
}

func (s *stage) close() {
	if s.board.news != nil {
		s.board.news.stop()
	}
	if s.screen != nil {
		s.screen.Close()
		s.stderr.release()
	}
}

// pause waits, and does what is pressed meanwhile.
func (s *stage) pause(ctx context.Context, d time.Duration) error {
	if s.screen == nil {
		return s.demo.pause(ctx, d)
	}
	return s.screen.pause(ctx, d, &s.board, s.demo.pause)
}

// show shows what there is to see now, when it is time to.
func (s *stage) show(ctx context.Context, now andon.Time, sent tally) error {
	if s.shown != 0 && now.Sub(s.shown) < s.every && !s.board.hungry {
		return nil
	}
	rows := plainRows
	if s.screen != nil {
		rows = s.screen.rows()
	}
	if s.board.due(now) {
		if err := s.board.look(ctx, s.client, client.DeviceQuery{}, rows, false); err != nil {
			return err
		}
		s.board.looked = now
	}
	s.board.now, s.board.asked = now, now
	rate := s.rate(now, sent)
	s.shown, s.before = now, sent
	if s.screen == nil {
		return s.print(rate)
	}
	s.board.notes = nil
	if rate != "" {
		s.board.notes = []string{rate + "."}
	}
	return s.screen.draw(&s.board)
}

// rate says how much arrived a second since it was shown last.
func (s *stage) rate(now andon.Time, sent tally) string {
	if s.shown == 0 {
		return ""
	}
	seconds := now.Sub(s.shown).Seconds()
	return fmt.Sprintf("%.0f events/s, %.0f readings/s",
		float64(sent.events-s.before.events)/seconds,
		float64(sent.readings-s.before.readings)/seconds)
}

// print prints the board as a line.
func (s *stage) print(rate string) error {
	b := &s.board
	out := s.Printer()
	parts := []string{b.now.Std().Format("15:04:05")}
	looks := map[andon.State]string{}
	for _, state := range b.states {
		text := stateText(state.Symbol, state.State)
		looks[state.State] = out.Paint(state.Colour, text)
		parts = append(parts, looks[state.State]+" "+draw.Grouped(state.Count))
	}
	if rate != "" {
		parts = append(parts, rate)
	}
	if len(b.devices) > 0 {
		parts = append(parts, "worst: "+summary(&b.devices[0], b.now))
	}
	return printLine(s.Stdout, "%s", strings.Join(parts, "  "))
}
