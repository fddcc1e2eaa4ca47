package engine

import "sync"

// Job is background work. Requests for it during a run are coalesced into one more run.
type Job struct {
	wanted chan struct{}
	ended  sync.WaitGroup
}

// Start starts the goroutine that does the work.
func (e *Job) Start(work func()) {
	e.wanted = make(chan struct{}, 1)
	e.ended.Go(func() {
		for range e.wanted {
			work()
		}
	})
}

// Want asks for a run, without waiting.
func (e *Job) Want() {
	select {
	case e.wanted <- struct{}{}:
	default: // it was asked for already
	}
}

// Stop waits for the runs that were asked for.
func (e *Job) Stop() {
	close(e.wanted)
	e.ended.Wait()
}
