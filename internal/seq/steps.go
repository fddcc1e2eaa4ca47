package seq

import "iter"

// InSteps returns up to want items that keep keeps, of those that read returns from after a
// position on.
func InSteps[S, P any](
	want, step int, keep func(*S) bool, after P, read func(after P, n int) iter.Seq2[S, error],
	position func(*S) P,
) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		var last S
		for want > 0 {
			n, got := step, 0
			if keep == nil {
				n = min(want, step)
			}
			for item, err := range read(after, n) {
				if err == nil {
					last, got = item, got+1
				}
				if err == nil && keep != nil && !keep(&last) {
					continue
				}
				if !yield(item, err) || err != nil {
					return
				}
				if want--; want == 0 {
					return
				}
			}
			if got < n {
				return
			}
			after = position(&last)
		}
	}
}
