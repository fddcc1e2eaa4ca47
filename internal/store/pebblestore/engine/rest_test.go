package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPace works for a millisecond at a time, and looks at how long that takes with its rests.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name   string
		bytes  int // of ten pieces of work
		late   bool
		closes bool
		took   time.Duration
	}{
		{name: "in no hurry", bytes: PaceBytes, took: 30 * time.Millisecond},
		{name: "small pieces", bytes: PaceBytes / 2, took: 30 * time.Millisecond},
		{name: "late", bytes: PaceBytes, late: true, took: 10 * time.Millisecond},
		{name: "closing", bytes: PaceBytes, closes: true, took: 10 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := NewPacing(1)
				defer all.Stop()
				p := all.Begin(func() bool { return c.late })
				if c.closes {
					all.Stop()
				}
				begun := time.Now()
				for range 10 {
					<-time.After(time.Millisecond)
					p.Did(c.bytes)
				}
				if took := time.Since(begun); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
			})
		})
	}
}

// TestLongWorkIsNoReasonForALongRest is of a process that was stopped in the middle of its work.
func TestLongWorkIsNoReasonForALongRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewPacing(1)
		defer all.Stop()
		p := all.Begin(func() bool { return false })
		<-time.After(time.Hour)
		begun := time.Now()
		p.Did(PaceBytes)
		if rest := time.Since(begun); rest != longestRest {
			t.Errorf("rested %s, want %s", rest, longestRest)
		}
	})
}
