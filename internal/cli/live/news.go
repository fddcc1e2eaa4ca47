package live

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// news is what the server tells of the fleet as it changes: the stream that its board draws from,
// too.
type news struct {
	told chan client.Told // closed at the end
	err  error            // why it ended; to be read behind that
	stop func()
}

// listen begins to listen to a server, and returns once the server has begun to tell: what is asked
// for from then on lacks nothing that is not told. nil: the store of the server has no stream, and
// the server has to be asked again and again.
func listen(ctx context.Context, c *client.Client) (*news, error) {
	ctx, cancel := context.WithCancel(ctx)
	const mostWaiting = 64
	n := &news{told: make(chan client.Told, mostWaiting)}
	n.stop = func() {
		cancel()
		for range n.told { // until it is closed
		}
	}
	go func() {
		defer close(n.told)
		for t, err := range c.Follow(ctx, client.Following{}) {
			if err != nil {
				n.err = err
				return
			}
			select {
			case n.told <- t:
			case <-ctx.Done():
				return
			}
		}
	}()
	if _, ok := <-n.told; ok {
		return n, nil
	}
	n.stop()
	// A server of an earlier version knows no stream at all.
	if command.IsUnsupported(n.err) || command.IsStatus(n.err, http.StatusNotFound) {
		return nil, nil
	}
	return nil, n.err
}

// channel is what is told; nil, on which one waits for ever, where nothing is.
func (n *news) channel() <-chan client.Told {
	if n == nil {
		return nil
	}
	return n.told
}

// ended returns why no more is told.
func (n *news) ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return n.err
}

const (
	// newsBeat is how long a table waits for more news before it asks what to draw.
	newsBeat = 250 * time.Millisecond
	// lookAnyway is how often a table is asked for although nothing is told: that a device falls
	// silent comes with the clock.
	lookAnyway = andon.Duration(10_000_000)
)

// hear takes in what is told: a table asks for what it shows, so that it holds no more than that.
// It reports whether that is old since this was told.
func (b *board) hear(t client.Told) (first bool) {
	b.trouble = ""
	switch t.Kind {
	case client.Connected:
	case client.Lost:
		b.trouble = firstLine(t.Err)
	default:
		first, b.old = !b.old, true
	}
	return first
}

// catchUp takes in what has been told already.
func (b *board) catchUp(ctx context.Context) error {
	for {
		select {
		case t, ok := <-b.news.channel():
			if !ok {
				return b.news.ended(ctx)
			}
			b.hear(t)
		default:
			return nil
		}
	}
}

// due reports whether what is shown has to be asked for.
func (b *board) due(now andon.Time) bool {
	return b.news == nil || b.hungry || b.old || b.trouble != "" || now.Sub(b.looked) >= lookAnyway
}

func firstLine(err error) string { return strings.SplitN(err.Error(), "\n", 2)[0] }
