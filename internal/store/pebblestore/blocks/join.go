package blocks

import (
	"cmp"
	"slices"

	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// joiner makes few blocks of the many that a device has in the runs of a day.
type joiner interface {
	// take takes a block.
	take(value []byte, at layout.BlockSpan) error
	// values returns how many values were taken since the last call of blocks.
	values() int
	// blocks makes as few blocks of the values as they fit into. It returns how many of them were
	// joined with a later delivery.
	blocks(put func(at layout.BlockSpan, value []byte) error) (joined int, err error)
}

// join is the joiner of one kind of values.
type join[T any] struct {
	codec  Codec[T]
	taken  []delivered[T]
	all    []T // of one block
	joined []T
	block  []byte
}

type delivered[T any] struct {
	value    T
	sequence uint64
}

func (j *join[T]) take(value []byte, at layout.BlockSpan) (err error) {
	if j.all, err = j.codec.Decode(j.all[:0], value, at.Newest); err != nil {
		return err
	}
	for i := range j.all {
		j.taken = append(j.taken, delivered[T]{j.all[i], at.Sequence})
	}
	return nil
}

func (j *join[T]) values() int { return len(j.taken) }

func (j *join[T]) blocks(
	put func(at layout.BlockSpan, value []byte) error,
) (joined int, err error) {
	rest := j.joinDeliveries()
	joined = len(j.taken) - len(rest)
	j.taken = j.taken[:0]
	for len(rest) > 0 {
		block, n := j.codec.Encode(j.block[:0], rest)
		j.block = block
		at := layout.BlockSpan{Newest: j.codec.Time(&rest[0]), Oldest: j.codec.Time(&rest[n-1])}
		if err := put(at, block); err != nil {
			return joined, err
		}
		rest = rest[n:]
	}
	return joined, nil
}

// joinDeliveries returns the values, newest first, each once.
func (j *join[T]) joinDeliveries() []T {
	order := func(a, b delivered[T]) int {
		if c := j.codec.Compare(&a.value, &b.value); c != 0 {
			return c
		}
		return cmp.Compare(a.sequence, b.sequence)
	}
	if !slices.IsSortedFunc(j.taken, order) {
		slices.SortFunc(j.taken, order)
	}
	j.joined = j.joined[:0]
	for i := range j.taken {
		is := j.taken[i].value
		if n := len(j.joined); n > 0 && j.codec.Compare(&j.joined[n-1], &is) == 0 {
			j.joined[n-1] = j.codec.Join(j.joined[n-1], is)
		} else {
			j.joined = append(j.joined, is)
		}
	}
	return j.joined
}
