package merge

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestSerialRandomMemberships: in whatever order processes come, beat, look, pause, lose answers,
// are killed and leave, with clocks that run apart, nothing was acknowledged by another process
// since when one holds itself for alone. The table is a model: each statement happens at one time
// between its beginning and its end, or after it, where no answer comes.
func TestSerialRandomMemberships(t *testing.T) {
	alone, acknowledged := 0, 0
	many(t, func(t *testing.T, r *rand.Rand) {
		w := &world{T: t, r: r, table: map[string]stampedRow{}}
		w.pace = pickOne(r, 0.02, 0.1, 0.4, 1)
		w.steady, w.short = pickOne(r, 40, 80, 200), pickOne(r, 1, 1, 6)
		for range 1000 {
			w.step()
			if t.Failed() {
				return
			}
		}
		alone, acknowledged = alone+w.alone, acknowledged+len(w.acknowledged)
	})
	if alone < 1_000 || acknowledged < 1_000 {
		t.Errorf("%d times alone, %d acknowledged: that shows nothing", alone, acknowledged)
	}
}

// world is the processes and their table. Its time is that which no one knows.
type world struct {
	*testing.T
	r             *rand.Rand
	now           float64
	pace          float64 // seconds from one step to the next
	steady, short int     // how rarely a process is paused, how often one leaves
	table         map[string]stampedRow
	processes     []*simulated
	late          []func() // statements that no answer came of
	made          int
	alone         int
	acknowledged  []acknowledgement
}

type stampedRow struct {
	MemberRow
	deleted int64 // the newest deletion
}

type acknowledgement struct {
	by *simulated
	at float64
}

// simulated is a process. What it does next depends on step.
type simulated struct {
	*Membership
	rate, offset float64 // of its clock
	paused       float64
	step         int
	began        Moment
	row          MemberRow
	rows         []MemberRow
	writing      bool
}

// clock is what a process takes a time for.
func (s *simulated) clock(at float64) Moment { return Moment(at*s.rate + s.offset) }

func (w *world) join() {
	w.made++
	id := fmt.Sprint("p", w.made)
	w.processes = append(w.processes, &simulated{
		Membership: NewMembership(id, UsualPace()),
		rate:       1 + w.r.Float64()*0.04, offset: w.r.Float64() * 1e12,
	})
}

// step lets some time go by and one thing happen.
func (w *world) step() {
	w.now += w.r.ExpFloat64() * w.pace * float64(time.Second)
	if len(w.late) > 0 && w.r.IntN(10) == 0 {
		i := w.r.IntN(len(w.late))
		w.late[i]()
		w.late = slices.Delete(w.late, i, i+1)
	}
	if len(w.processes) == 0 || (len(w.processes) < 3 && w.r.IntN(10) == 0) {
		w.join()
	}
	i := w.r.IntN(len(w.processes))
	p := w.processes[i]
	if w.r.IntN(w.steady) == 0 {
		p.paused = w.now + w.r.Float64()*50*float64(time.Second)
	}
	if w.now < p.paused {
		return
	}
	switch n := w.r.IntN(200); {
	case n < w.short && !p.writing && p.step != 1: // it leaves
		w.remove(p.ID, p.row.Version)
		fallthrough
	case n == 50: // it is killed
		w.processes = slices.Delete(w.processes, i, i+1)
	case n < 90:
		w.write(p)
	default:
		w.attend(p)
	}
	w.check()
}

// write begins an append, or ends one.
func (w *world) write(p *simulated) {
	ok, _ := p.MayWrite(p.clock(w.now))
	if p.writing && ok {
		w.acknowledged = append(w.acknowledged, acknowledgement{p, w.now})
	}
	p.writing = !p.writing && ok
}

// attend takes the next step of a beat and a look.
func (w *world) attend(p *simulated) {
	now := p.clock(w.now)
	switch p.step {
	case 0:
		p.began, p.row = now, p.Next()
		p.row.Version = p.row.Beat // a process's timestamps rise, that is all
		p.step = 1
		if row := p.row; w.r.IntN(6) == 0 {
			w.late = append(w.late, func() { w.put(row) })
			p.step = 3
		}
	case 1:
		w.put(p.row)
		p.step = 2
	case 2:
		p.Kept(p.row, p.began, now)
		p.step = 3
	case 3:
		p.began, p.step = now, 4
	case 4:
		p.rows = nil
		for _, r := range w.table {
			if r.Version > r.deleted {
				p.rows = append(p.rows, r.MemberRow)
			}
		}
		if p.step = 5; w.r.IntN(8) == 0 {
			p.step = 0 // no answer comes
		}
	case 5:
		for _, r := range p.Check(p.rows, p.began, now) {
			w.remove(r.ID, r.Version)
		}
		p.step = 0
	}
}

func (w *world) put(row MemberRow) {
	was := w.table[row.ID]
	if row.Version > was.Version {
		was.MemberRow = row
	}
	w.table[row.ID] = was
}

func (w *world) remove(id string, at int64) {
	was := w.table[id]
	was.deleted = max(was.deleted, at)
	w.table[id] = was
}

// check holds what each process believes against what was acknowledged.
func (w *world) check() {
	for _, p := range w.processes {
		since := p.Alone(p.clock(w.now))
		if since == 0 {
			continue
		}
		w.alone++
		last := slices.MaxFunc(append(w.acknowledged, acknowledgement{}),
			func(a, b acknowledgement) int {
				return cmp.Compare(a.ifOther(p), b.ifOther(p))
			})
		if at := last.ifOther(p); at > 0 && p.clock(at) > since {
			w.Errorf("%s holds itself for alone since %v, and %s had something acknowledged %v "+
				"later", p.ID, time.Duration(since), last.by.ID,
				time.Duration(p.clock(at)-since))
		}
	}
}

// ifOther is when something was acknowledged, where that was not by p.
func (a acknowledgement) ifOther(p *simulated) float64 {
	if a.by == p {
		return 0
	}
	return a.at
}

// many calls check with one random source after another, and names that of a failure.
func many(t *testing.T, check func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for range 5000 {
		seed := rand.Uint64()
		check(t, rand.New(rand.NewPCG(seed, 0)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func pickOne[T any](r *rand.Rand, items ...T) T { return items[r.IntN(len(items))] }
