package forward

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/source"
)

// batchBytes is about how much is sent at once.
const batchBytes = 1 << 20

var errRedirect = errors.New("the address to send to (--to) is not that of a server: it redirects")

// Open returns the queue that is in a store. It sends nothing yet. token is what the server asks
// for; "" for nothing. What is wrong with the settings is Invalid.
func Open(
	ctx context.Context, store andon.Store, c *Config, token string, log *slog.Logger,
) (*Queue, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	server, err := client.New(client.Options{
		URL: c.To, Tenant: andon.TenantID(c.Tenant), Token: token, Attempts: 3,
		Compress: func(plain []byte) []byte { return z.EncodeAll(plain, nil) },
		HTTP: &http.Client{
			Timeout: 2 * time.Minute, Transport: http.DefaultTransport.(*http.Transport).Clone(),
			// A redirected POST may become a GET, which takes nothing.
			CheckRedirect: func(to *http.Request, _ []*http.Request) error {
				return fmt.Errorf("%w to %s://%s", errRedirect, to.URL.Scheme, to.URL.Host)
			},
		},
	})
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "where to send to (--to): %w", err)
	}
	q := &Queue{
		Store: store, config: c, server: server, log: log,
		more: make(chan struct{}, 1), writing: map[int64]bool{},
	}
	return q, q.load(ctx)
}

// Send sends what is queued, in order, through a writer whose intake is the queue, until the
// context ends.
func (q *Queue) Send(ctx context.Context, to *source.Writer) error {
	ctx = andon.Freeing(ctx) // a queue that has filled the disk must get shorter
	for ctx.Err() == nil {
		batch, messages, err := q.next(ctx)
		if err == nil && len(batch) == 0 {
			_, _ = sleep.Until(ctx, q.more, time.Minute)
			continue
		}
		if err == nil {
			err = to.Write(ctx, messages)
		}
		if err == nil { // also where a stop came meanwhile
			err = q.remove(context.WithoutCancel(ctx), batch)
		}
		if err != nil && ctx.Err() == nil {
			q.log.Error("the queue can't be sent", "error", err)
			_ = sleep.For(ctx, time.Minute)
		}
	}
	return nil
}

// next returns the next records. Each of their entries is a message, so that one that is refused is
// shown by itself.
func (q *Queue) next(
	ctx context.Context,
) (batch []record, messages []mapping.Message, err error) {
	size, to := 0, q.durable()
	for r, err := range q.after(ctx, q.sent.Number) {
		if err != nil || r.number > to || size > batchBytes {
			return batch, messages, err
		}
		var entries []json.RawMessage
		if err := json.Unmarshal([]byte(r.Data), &entries); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", &r, err)
		}
		for i, entry := range entries {
			messages = append(messages, mapping.Message{
				Place: fmt.Sprintf("%s/%d", r.ID, i), Value: entry, Time: r.arrival,
			})
		}
		batch, size = append(batch, r), size+len(r.Data)
		q.tell(func(s *State) { s.Oldest = batch[0].arrival })
	}
	return batch, messages, nil
}

// remove notes that a batch was sent, and deletes it. Each is done though the other may fail, since
// either keeps the batch from being sent again. The deletions share the waits for the disk.
func (q *Queue) remove(ctx context.Context, batch []record) error {
	q.sent = mark{Number: batch[len(batch)-1].number}
	for i := range batch {
		q.sent.Arrival = max(q.sent.Arrival, batch[i].arrival)
	}
	q.tell(func(*State) {
		for i := range batch {
			q.add(&batch[i], -1)
		}
	})
	return errors.Join(q.keep(ctx),
		parallel.Do(ctx, len(batch), 64, func(ctx context.Context, i int) error {
			return q.DeleteRecord(ctx, batch[i].Record)
		}))
}

// Flush waits until all is sent, as long as the server takes it.
func (q *Queue) Flush(ctx context.Context) {
	for s := q.State(); s.Entries > 0 && s.Trouble == nil; s = q.State() {
		if sleep.For(ctx, 10*time.Millisecond) != nil {
			return
		}
	}
}

// State returns what is told of the gateway.
func (q *Queue) State() (is State) {
	q.tell(func(s *State) { is = *s })
	return is
}

func (q *Queue) tell(change func(*State)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change(&q.state)
}

// Enter implements source.Intake: what is sent was let in before.
func (*Queue) Enter(context.Context, int64, int64) (leave func(), err error) {
	return func() {}, nil
}

// Events implements source.Intake.
func (q *Queue) Events(
	ctx context.Context, _ andon.TenantID, b ingest.Batch[andon.Event],
) (intake.Result, error) {
	return send(ctx, q, b.Items, q.server.AppendEvents)
}

// Readings implements source.Intake.
func (q *Queue) Readings(
	ctx context.Context, _ andon.TenantID, b ingest.Batch[andon.Reading],
) (intake.Result, error) {
	return send(ctx, q, b.Items, q.server.AppendReadings)
}

// accounts reports whether an answer says what became of each of n entries.
func accounts(r *client.Result, n int) bool {
	return r.Accepted+len(r.Rejected) == n &&
		!slices.ContainsFunc(r.Rejected, func(one andon.Rejection) bool {
			return one.Index < 0 || one.Index >= n
		})
}

// send sends entries. An error is Invalid or TooLarge if it is about them, Internal if it may be,
// and else Unavailable: an answer that is not Andon's own, such as that of a proxy, is about no
// entry.
func send[T any](
	ctx context.Context, q *Queue, items []ingest.Item[T],
	post func(context.Context, []T) (client.Result, error),
) (intake.Result, error) {
	entries := make([]T, len(items))
	for i := range items {
		entries[i] = items[i].Value
	}
	sent, err := post(ctx, entries)
	if err == nil && !accounts(&sent, len(items)) {
		err = errors.New("the answer is not that of an Andon server: it does not account for all " +
			"entries")
	}
	e, answered := errors.AsType[*client.Error](err)
	switch {
	case answered && e.Status == http.StatusBadRequest && e.Detail != "":
		return intake.Result{}, andon.Errorf(andon.Invalid, "%s", e.Detail)
	case answered && e.Status == http.StatusRequestEntityTooLarge &&
		(e.Detail != "" || len(items) > 1): // a proxy may take it in parts
		return intake.Result{}, andon.Errorf(andon.TooLarge, "%s", cmp.Or(e.Detail, e.Error()))
	}
	q.tell(func(s *State) {
		s.Trouble = err
		s.Refused = errors.Is(err, errRedirect) ||
			answered && e.Status < http.StatusInternalServerError &&
				e.Status != http.StatusTooManyRequests
	})
	if answered && e.Status == http.StatusInternalServerError && e.Detail != "" {
		return intake.Result{}, andon.Errorf(andon.Internal, "%w", err)
	}
	if err != nil {
		return intake.Result{}, andon.Errorf(andon.Unavailable, "%w", err)
	}
	for i := range sent.Rejected {
		sent.Rejected[i].Index = items[sent.Rejected[i].Index].Index
	}
	return intake.Result{Accepted: sent.Accepted, Rejected: sent.Rejected}, nil
}
