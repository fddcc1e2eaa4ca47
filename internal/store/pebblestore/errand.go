package pebblestore

import "sync"

// errand is work in the background. However often it is wanted while it is being done, it is done
// once more.
type errand struct {
	wanted chan struct{}
	ended  sync.WaitGroup
}

func (e *errand) start(work func()) {
	e.wanted = make(chan struct{}, 1)
	e.ended.Go(func() {
		for range e.wanted {
			work()
		}
	})
}

// want asks for the work, without waiting.
func (e *errand) want() {
	select {
	case e.wanted <- struct{}{}:
	default: // it is wanted already
	}
}

// stop waits for the work that was wanted.
func (e *errand) stop() {
	close(e.wanted)
	e.ended.Wait()
}
