// Package source is where messages of foreign systems end: it maps them to entries, hands these to
// intake as HTTP does, and keeps what is refused, with its reason. It knows no protocol: what reads
// from a broker is in a package of its own, and acknowledges messages once Write has returned.
package source

import (
	"context"

	"github.com/andonhq/andon/internal/mapping"
)

// Writer keeps the messages of one source. Its methods may be called concurrently.
type Writer struct{}

// Write returns nil once all entries of the messages are durable and all that was refused is in the
// list of rejections. It tries again while the store is slow, full or out of reach, so an error is
// only that of the context, and the messages must then be read again.
func (w *Writer) Write(ctx context.Context, messages []mapping.Message) error {
	panic("not yet")
}
