package seq_test

import (
	"errors"
	"iter"
	"reflect"
	"slices"
	"testing"

	"github.com/andonhq/andon/internal/seq"
)

var errBroken = errors.New("broken")

// count yields 1, 2 and so on up to n, also where no more is wanted, and ends with an error.
func count(n int, err error) func(yield func(int) bool) error {
	return func(yield func(int) bool) error {
		for i := range n {
			yield(i + 1)
		}
		return err
	}
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error // that walk returns
		most   int   // values that are read
		want   []int
		failed error
	}{
		{"all values", nil, 9, []int{1, 2, 3}, nil},
		{"the error comes last", errBroken, 9, []int{1, 2, 3}, errBroken},
		{"nothing comes after a reader who left", errBroken, 2, []int{1, 2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []int
			var failed error
			all := seq.Of(count(3, c.err))
			for range 2 { // it can be read again
				got, failed = nil, nil
				for value, err := range all {
					if failed = err; err != nil {
						continue
					}
					if got = append(got, value); len(got) == c.most {
						break
					}
				}
			}
			if !slices.Equal(got, c.want) || !errors.Is(failed, c.failed) {
				t.Errorf("%v, %v, want %v, %v", got, failed, c.want, c.failed)
			}
		})
	}
}

func TestUpTo(t *testing.T) {
	for n, want := range [][]int{{}, {1}, {1, 2}} {
		var got []int
		yield := seq.UpTo(n, func(value int) bool {
			got = append(got, value)
			return true
		})
		for i := range 4 {
			if more := yield(i + 1); more != (i+1 < n) {
				t.Errorf("up to %d: after %d more is wanted: %v", n, i+1, more)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", n, got, want)
		}
	}
	stop := seq.UpTo(9, func(int) bool { return false })
	if stop(1) {
		t.Error("more is wanted after the reader left")
	}
}

func TestMap(t *testing.T) {
	double := seq.Map(seq.Of(count(2, errBroken)), func(value int) int { return 2 * value })
	var got []int
	var failed error
	for value, err := range double {
		if failed = err; err == nil {
			got = append(got, value)
		}
	}
	if !slices.Equal(got, []int{2, 4}) || !errors.Is(failed, errBroken) {
		t.Errorf("%v, %v", got, failed)
	}
}

func TestFrom(t *testing.T) {
	found := errBroken
	find := func() (int, error) { return 3, found }
	all := seq.From(find, func(n int, yield func(int) bool) error {
		return count(n, nil)(yield)
	})
	for want, err := range map[int]error{0: errBroken, 3: nil} {
		n := 0
		found = err
		for _, failed := range all {
			if !errors.Is(failed, err) {
				t.Errorf("%v, want %v", failed, err)
			}
			if failed == nil {
				n++
			}
		}
		if n != want {
			t.Errorf("%d values, want %d", n, want)
		}
	}
}

// TestPieces: a piece comes once it is full, before more is read, and what is left comes before the
// error.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		all    iter.Seq2[int, error]
		want   [][]int
		failed error
	}{
		{seq.Of(count(0, nil)), nil, nil},
		{seq.Of(count(4, nil)), [][]int{{1, 2}, {3, 4}}, nil},
		{seq.Of(count(3, nil)), [][]int{{1, 2}, {3}}, nil},
		{seq.Of(count(3, errBroken)), [][]int{{1, 2}, {3}}, errBroken},
		{seq.Of(count(2, errBroken)), [][]int{{1, 2}}, errBroken},
	} {
		var got [][]int
		var failed error
		for piece, err := range seq.Pieces(func() int { return 2 }, c.all) {
			if failed = err; err == nil {
				got = append(got, piece)
			}
		}
		if !reflect.DeepEqual(got, c.want) || !errors.Is(failed, c.failed) {
			t.Errorf("%v, %v, want %v, %v", got, failed, c.want, c.failed)
		}
	}
	for piece, err := range seq.Pieces(func() int { return 2 }, seq.Of(count(3, errBroken))) {
		if err != nil || !slices.Equal(piece, []int{1, 2}) {
			t.Errorf("%v, %v", piece, err)
		}
		break
	}
}

// TestJoin: what comes of each value comes in order, up to the first error or until the reader
// leaves.
func TestJoin(t *testing.T) {
	upTo := func(n int) func(int) iter.Seq2[int, error] {
		return func(i int) iter.Seq2[int, error] {
			if i > n {
				return seq.Of(count(1, errBroken))
			}
			return seq.Of(count(i, nil))
		}
	}
	three := seq.Of(count(3, nil))
	for _, c := range []struct {
		all    iter.Seq2[int, error]
		want   []int
		failed error
	}{
		{seq.Join(three, upTo(3)), []int{1, 1, 2, 1, 2, 3}, nil},
		{seq.Join(three, upTo(1)), nil, errBroken},
		{seq.First(4, seq.Join(three, upTo(3))), []int{1, 1, 2, 1}, nil},
		{seq.First(2, seq.Join(three, upTo(1))), []int{1, 1}, nil},
		{seq.Join(seq.Of(count(2, errBroken)), upTo(3)), nil, errBroken},
	} {
		got, err := seq.Collect(c.all)
		if !slices.Equal(got, c.want) || !errors.Is(err, c.failed) {
			t.Errorf("%v, %v, want %v, %v", got, err, c.want, c.failed)
		}
	}
}
