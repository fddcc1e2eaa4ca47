package plan

import "testing"

// TestUnits holds the rules of the service at their boundaries, item by item.
func TestUnits(t *testing.T) {
	written := func(before, after int) float64 {
		return (&ItemWrite{Before: before, After: after}).Units()
	}
	copied := func(before, after int, moves, changed bool) float64 {
		w := ItemWrite{Index: "GSI1", Before: before, After: after, Moves: moves, Changed: changed}
		return w.Units()
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"put 1 byte", written(0, 1), 1},
		{"put 1,024", written(0, 1024), 1},
		{"put 1,025", written(0, 1025), 2},
		{"put 3,073", written(0, 3073), 4},
		{"put a smaller item over a larger one", written(2049, 100), 3},
		{"delete 1,025", written(1025, 0), 2},
		{"delete what is not there", written(0, 0), 1},

		{"get 4,096, strong", ReadUnits(4096, Strong), 1},
		{"get 4,097, strong", ReadUnits(4097, Strong), 2},
		{"get 4,096, eventual", ReadUnits(4096, Eventual), 0.5},
		{"get 4,097, eventual", ReadUnits(4097, Eventual), 1},
		{"get what is not there", ReadUnits(0, Strong), 1},
		{"query what is not there, eventual", ReadUnits(0, Eventual), 0.5},
		{"query 10 x 500: added up before rounding", ReadUnits(5000, Strong), 2},

		{"an index without a copy", copied(0, 0, false, true), 0},
		{"a copy that stays", copied(100, 100, false, false), 0},
		{"a new copy of 1,024", copied(0, 1024, false, true), 1},
		{"a new copy of 1,025", copied(0, 1025, false, true), 2},
		{"a copy that goes", copied(1025, 0, false, true), 2},
		{"a copy with another key", copied(1025, 100, true, true), 3},
		{"a copy with another attribute", copied(1025, 100, false, true), 2},
	} {
		if c.got != c.want {
			t.Errorf("%s: %g units, want %g", c.what, c.got, c.want)
		}
	}
}

// TestReads: a batch rounds each item alone, and a query the sum of its items.
func TestReads(t *testing.T) {
	r := ItemRead{Calls: 2, Items: 10, Bytes: 500, Consistency: Strong}
	if got := r.Units(1); got != 20 {
		t.Errorf("two batches of 10 items of 500 bytes cost %g units, want 20", got)
	}
	r.Query = true
	if got := r.Units(1); got != 4 {
		t.Errorf("two queries of 10 items of 500 bytes cost %g units, want 4", got)
	}
	r.Consistency = Eventual
	if got := r.Units(1); got != 2 {
		t.Errorf("the same, eventually consistent, cost %g units, want 2", got)
	}
}
