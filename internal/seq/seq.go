// Package seq makes sequences that end at their first error, as all lists of a store do.
package seq

import "iter"

// Of returns the values that walk yields, and after them its error. yield reports whether more is
// wanted. If it is not, walk returns, and its error is left out.
func Of[T any](walk func(yield func(T) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		more := true
		err := walk(func(value T) bool {
			more = more && yield(value, nil)
			return more
		})
		if err != nil && more {
			var none T
			yield(none, err)
		}
	}
}

// From returns what walk yields of something that must be found first, each time that the sequence
// is read.
func From[A, T any](
	find func() (A, error), walk func(found A, yield func(T) bool) error,
) iter.Seq2[T, error] {
	return After(find, func(found A) iter.Seq2[T, error] {
		return Of(func(yield func(T) bool) error { return walk(found, yield) })
	})
}

// After is the sequence that comes of something that must be found first, each time that it is
// read.
func After[A, T any](
	find func() (A, error), read func(found A) iter.Seq2[T, error],
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		found, err := find()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		read(found)(yield)
	}
}

// UpTo is yield for the first n values.
func UpTo[T any](n int, yield func(T) bool) func(T) bool {
	return func(value T) bool {
		n--
		return n >= 0 && yield(value) && n > 0
	}
}

// Map returns what each value of another sequence becomes.
func Map[A, B any](all iter.Seq2[A, error], to func(A) B) iter.Seq2[B, error] {
	return Of(func(yield func(B) bool) error {
		for value, err := range all {
			if err != nil || !yield(to(value)) {
				return err
			}
		}
		return nil
	})
}

// Yield yields the values of another sequence, and returns its error.
func Yield[T any](all iter.Seq2[T, error], yield func(T) bool) error {
	for value, err := range all {
		if err != nil || !yield(value) {
			return err
		}
	}
	return nil
}

// First is the first n values of another sequence.
func First[T any](n int, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return Of(func(yield func(T) bool) error { return Yield(all, UpTo(n, yield)) })
}

// Join is what comes of each value of another sequence, one after the other.
func Join[A, B any](
	all iter.Seq2[A, error], of func(A) iter.Seq2[B, error],
) iter.Seq2[B, error] {
	return Of(func(yield func(B) bool) error {
		for value, err := range all {
			if err != nil {
				return err
			}
			for value, err := range of(value) {
				if err != nil || !yield(value) {
					return err
				}
			}
		}
		return nil
	})
}

// List yields what find returns, each time that the sequence is read.
func List[T any](find func() ([]T, error)) iter.Seq2[T, error] {
	return Of(func(yield func(T) bool) error {
		all, err := find()
		for _, value := range all {
			if err != nil || !yield(value) {
				break
			}
		}
		return err
	})
}

// Pieces returns a sequence in pieces, each of as many values as size says while it is gathered.
// The last one, which may come before an error, may have fewer.
func Pieces[T any](size func() int, all iter.Seq2[T, error]) iter.Seq2[[]T, error] {
	return Of(func(yield func([]T) bool) error {
		var piece []T
		var failed error
		for value, err := range all {
			if failed = err; err != nil {
				break
			}
			if piece = append(piece, value); len(piece) >= size() {
				if !yield(piece) {
					return nil
				}
				piece = nil
			}
		}
		if len(piece) > 0 {
			yield(piece)
		}
		return failed
	})
}

// Collect returns all values of a sequence.
func Collect[T any](all iter.Seq2[T, error]) (values []T, err error) {
	for value, err := range all {
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}
