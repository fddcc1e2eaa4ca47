package app

import "context"

// worker is a service that works in the background from the start of the program to its end: it
// reads from a broker, or writes to one. What it depends on may be out of reach for hours, so it
// tries again by itself, and the program is ready without it.
type worker struct {
	label string
	// run works until the context ends, and returns soon after that. An error ends the program.
	run func(context.Context) error

	running context.Context
	quit    context.CancelFunc
}

func (w *worker) name() string { return w.label }

func (w *worker) open(ctx context.Context) error {
	w.running, w.quit = context.WithCancel(context.WithoutCancel(ctx))
	return nil
}

func (w *worker) serve() error {
	err := w.run(w.running)
	if w.running.Err() != nil {
		return nil
	}
	return err
}

func (w *worker) stop(context.Context) error {
	w.quit()
	return nil
}
