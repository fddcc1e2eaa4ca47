package readingblock

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

const newest = andon.Time(1_764_806_399_000_000) // the last second of a day

// oddValues are those that an encoding is most likely to change.
func oddValues() []float64 {
	return []float64{
		0, math.Copysign(0, -1), 1e308, -1e308, 5e-324, math.MaxFloat64, 1e-130, 9.9e125, 1 << 53,
		1<<53 + 2, -(1 << 53), 0.1 + 0.2, 1.0 / 3, math.Pi, 0.1, 58.20000076293945, 1e15, 1e22,
		1e23,
	}
}

// series returns how the values of a metric go on, in one of many ways.
func series(rng *rand.Rand) func() float64 {
	walk, few := int64(rng.IntN(1000)), []float64{rng.Float64(), rng.NormFloat64(), -0.25}
	digits := math.Pow10(rng.IntN(4))
	return []func() float64{
		func() float64 { walk += rng.Int64N(5) - 2; return float64(walk) / digits },
		func() float64 { walk += 7; return float64(walk) },
		func() float64 { return few[rng.IntN(len(few))] },
		func() float64 { return 1e9 * rng.NormFloat64() },
		func() float64 { return oddValues()[rng.IntN(len(oddValues()))] },
		func() float64 { return float64(rng.IntN(2)) },
		func() float64 { return 21.5 },
		func() float64 { return math.Float64frombits(rng.Uint64() &^ (1 << 62)) },
	}[rng.IntN(8)]
}

// randomReadings returns readings of one device, newest first.
func randomReadings(rng *rand.Rand, n int) []andon.Reading {
	unit := []andon.Time{1, 1_000, 1_000_000, 10_000_000}[rng.IntN(4)]
	spread, absent := 1+rng.IntN(3), rng.IntN(3)
	all := make([]func() float64, rng.IntN(12))
	for i := range all {
		all[i] = series(rng)
	}
	at, readings := newest, make([]andon.Reading, n)
	for i := range readings {
		r := andon.Reading{Time: at}
		at -= unit * andon.Time(1+rng.IntN(spread))
		for m, next := range all {
			if absent == 0 || rng.IntN(3) > 0 {
				name := andon.MetricName(fmt.Sprintf("metric %02d", m))
				r.Metrics = append(r.Metrics, andon.Metric{Name: name, Value: next()})
			}
		}
		if absent == 2 {
			all := []string{"", `{"a":1}`, fmt.Sprintf(`{"a":%d}`, i)}
			r.Metadata = andon.JSON(all[rng.IntN(3)])
		}
		readings[i] = r
	}
	return readings
}

func equal(t *testing.T, what string, want, got []andon.Reading) {
	t.Helper()
	same := func(a, b andon.Metric) bool {
		return a.Name == b.Name && math.Float64bits(a.Value) == math.Float64bits(b.Value)
	}
	metrics := cmp.Comparer(func(a, b andon.Metrics) bool { return slices.EqualFunc(a, b, same) })
	if diff := cmp.Diff(want, got, metrics); diff != "" {
		t.Fatalf("%s: %s", what, diff)
	}
}

func TestABlockGivesBackItsReadings(t *testing.T) {
	var x Encoder
	var d Decoder
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		readings := randomReadings(rng, 1+rng.IntN(100))
		block := x.Append(nil, readings)
		n, ok := Count(block)
		if n != len(readings) || !ok {
			t.Fatalf("seed %d: %d readings (%v), want %d", seed, n, ok, len(readings))
		}
		got, err := d.Readings(block, newest, Wanted{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		equal(t, fmt.Sprint("seed ", seed), readings, got)
	}
}

func TestOfABlockWhatIsWantedIsRead(t *testing.T) {
	var x Encoder
	var d Decoder
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 2))
		readings := randomReadings(rng, 1+rng.IntN(100))
		first := rng.IntN(len(readings))
		last := first + rng.IntN(len(readings)-first)
		want := Wanted{
			Span: andon.Span{From: readings[last].Time, To: readings[first].Time},
			Most: rng.IntN(4),
		}
		if rng.IntN(2) == 0 {
			want.Metrics = []andon.MetricName{"metric 01", "metric 03", "other"}
		}
		expected := slices.Clone(readings[first : last+1])
		if want.Most > 0 {
			expected = expected[:min(len(expected), want.Most)]
		}
		for i := range expected {
			expected[i].Metrics = expected[i].Metrics.Only(want.Metrics)
		}
		got, err := d.Readings(x.Append(nil, readings), newest, want)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		equal(t, fmt.Sprint("seed ", seed), expected, got)
	}
}

func TestABlockIsBounded(t *testing.T) {
	for _, test := range []struct {
		name             string
		metrics, metaLen int
		want             int
	}{
		{"few metrics", 3, 0, MaxBlock},
		{"many metrics", andon.MaxMetrics, 0, maxBytes / sampleBytes / andon.MaxMetrics},
		{"more than fit", andon.MaxJoinedMetrics, 0, 1},
		{"long metadata", 1, 20 << 10, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			readings := make([]andon.Reading, 2*MaxBlock)
			for i := range readings {
				readings[i] = andon.Reading{
					Time: newest - andon.Time(i), Metrics: make(andon.Metrics, test.metrics),
					Metadata: andon.JSON(fmt.Sprintf("%0*d", test.metaLen, i)[:test.metaLen]),
				}
				for m := range readings[i].Metrics {
					readings[i].Metrics[m].Name = andon.MetricName(fmt.Sprintf("%06d", m))
				}
			}
			n := BlockOf(readings)
			if n != test.want {
				t.Errorf("a block of %d readings, want %d", n, test.want)
			}
			var x Encoder
			var d Decoder
			got, err := d.Readings(x.Append(nil, readings[:n]), newest, Wanted{})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, test.name, readings[:n], got)
		})
	}
}

// What regular machines send must stay small: a change that makes it larger shows here.
func TestWhatRegularMachinesSendIsSmall(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	readings := make([]andon.Reading, MaxBlock)
	temperature, counter := 712, 90_000
	for i := range readings {
		temperature += rng.IntN(3) - 1
		counter -= 12
		readings[i] = andon.Reading{Time: newest - andon.Time(i)*10_000_000, Metrics: andon.Metrics{
			{Name: "counter", Value: float64(counter)}, {Name: "light", Value: 1},
			{Name: "temperature", Value: float64(temperature) / 10},
		}}
	}
	var x Encoder
	block := x.Append(nil, readings)
	if bits := 8 * len(block) / len(readings); bits > 3 {
		t.Errorf("a reading takes %d bits, of which the temperature needs 1.6", bits)
	}
}

// TestTheNewestReadingIsDecodedAlone: of a whole block no other's time or value.
func TestTheNewestReadingIsDecodedAlone(t *testing.T) {
	readings := make([]andon.Reading, MaxBlock)
	for i := range readings {
		readings[i] = andon.Reading{
			Time: newest - andon.Time(i*i), Metrics: andon.Metrics{{Name: "a", Value: float64(i)}},
		}
	}
	var x Encoder
	block := x.Append(nil, readings)
	for _, span := range []andon.Span{{}, {To: newest}, {From: newest - 5, To: newest + 1}} {
		var d Decoder
		got, err := d.Readings(block, newest, Wanted{Span: span, Most: 1})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the newest", readings[:1], got)
		if size := max(cap(d.numbers), cap(d.of), cap(d.values)); size > 16 {
			t.Errorf("%+v: a buffer for %d numbers was made", span, size)
		}
	}
	var d Decoder
	got, err := d.Readings(block, newest, Wanted{Span: andon.Span{To: newest - 1}, Most: 2})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "after the newest", readings[1:3], got)
}

func FuzzDecode(f *testing.F) {
	var x Encoder
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		f.Add(x.Append(nil, randomReadings(rng, 1+rng.IntN(20))), int64(newest))
	}
	f.Fuzz(func(t *testing.T, block []byte, at int64) {
		var d Decoder
		readings, err := d.Readings(block, andon.Time(at), Wanted{})
		if err != nil {
			return
		}
		if n, ok := Count(block); n != len(readings) || !ok {
			t.Fatalf("%d readings of %d (%v)", len(readings), n, ok)
		}
	})
}
