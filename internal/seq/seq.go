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
