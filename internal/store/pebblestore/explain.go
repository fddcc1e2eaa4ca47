package pebblestore

import (
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// What a question costs is told where its context asks for that (andon.WithPlan): each table that
// an iterator reads, with the keys that it passed over and the values that it took; what is in a
// head; and the entries within the blocks. Without a plan nothing is counted but what is counted
// anyway.

// looked is how much was looked at, and how much of that was wanted.
type looked struct{ scanned, rows int }

// explain tells the plan which entries a reader looked at.
func (r *eventReader) explain() {
	p := andon.PlanOf(r.ctx)
	if p == nil {
		return
	}
	for _, of := range []struct {
		statement string
		looked
	}{
		{"memory: entries that are not in blocks yet", r.inHeads},
		{"entries within blocks or rows", r.inBlocks},
	} {
		if of.scanned > 0 {
			p.Add(andon.PlanStep{Statement: of.statement, Scanned: of.scanned, Rows: of.rows})
		}
	}
}

// explainMemory tells the plan what was read of current states, which are in memory.
func explainMemory(p *andon.Plan, scanned, rows int, begun time.Duration) {
	p.Add(andon.PlanStep{
		Statement: "memory: what devices show", Scanned: scanned, Rows: rows,
		Took: andon.Took(engine.SinceStart() - begun),
	})
}
