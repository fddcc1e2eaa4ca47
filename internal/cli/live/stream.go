package live

import (
	"context"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// stream is the server's stream of changes, read by a goroutine of its own.
type stream struct {
	messages chan client.Update // closed at the end
	err      error              // why the stream ended; valid once messages is closed
	close    func()             // ends the goroutine and waits for it
}

// openStream returns once the server has begun to send: a list that is read afterwards misses
// nothing that the stream does not bring. It returns nil where the server's store has no stream;
// such a server must be polled.
func openStream(ctx context.Context, c *client.Client) (*stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	const buffered = 64
	s := &stream{messages: make(chan client.Update, buffered)}
	s.close = func() {
		cancel()
		for range s.messages { // until it is closed
		}
	}
	go s.read(ctx, c)
	if _, ok := <-s.messages; ok {
		return s, nil
	}
	s.close()
	if command.IsUnsupported(s.err) {
		return nil, nil
	}
	return nil, s.err
}

func (s *stream) read(ctx context.Context, c *client.Client) {
	defer close(s.messages)
	for t, err := range c.Follow(ctx, client.FollowOptions{}) {
		if err != nil {
			s.err = err
			return
		}
		select {
		case s.messages <- t:
		case <-ctx.Done():
			return
		}
	}
}
