package andon

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// The magnitudes of a metric other than 0 that every store can hold: MinMetric ≤ |x| < MaxMetric.
const (
	MinMetric = 1e-130
	MaxMetric = 1e126
)

// MaxJoinedMetrics is how many metrics a reading may come to have by joining messages of one time.
const MaxJoinedMetrics = 10_000

// Metric is one number of a reading.
type Metric struct {
	Name  MetricName
	Value float64
}

// Metrics are the numbers of a reading, sorted by name, each name once.
type Metrics []Metric

// Reading is the metrics of a device at one time. Messages of one device and time join metric by
// metric, a later value replaces; so do later metadata, whole.
type Reading struct {
	Device   DeviceID `json:"device"`
	Time     Time     `json:"time"`
	Metrics  Metrics  `json:"metrics"`
	Metadata JSON     `json:"metadata,omitempty"`
}

// MetricReading is one metric of one device at one time.
type MetricReading struct {
	Device DeviceID `json:"device"`
	Time   Time     `json:"time"`
	Value  float64  `json:"value"`
	// ByTime says that the list goes by time, and not device by device.
	ByTime bool `json:"-"`
}

// Position returns the position of the reading in its list.
func (r *MetricReading) Position() MetricPosition {
	return MetricPosition{Device: r.Device, Time: r.Time, ByTime: r.ByTime}
}

// Validate reports what is wrong with the reading by itself, as an Error that names the field.
func (r *Reading) Validate() error {
	if err := r.Device.Validate(); err != nil {
		return AtField("body.device", "%s", err)
	}
	if len(r.Metrics) == 0 && r.Metadata == "" {
		return AtField("body.metrics", "there is no metric")
	}
	if len(r.Metrics) > MaxMetrics {
		return AtField("body.metrics", "%d metrics, more than %d", len(r.Metrics), MaxMetrics)
	}
	for _, m := range r.Metrics {
		if err := m.Name.Validate(); err != nil {
			return AtField("body.metrics", "%s", err)
		}
		if err := CheckMetric(m.Value); err != nil {
			return AtField("body.metrics", "metric %q: %s", m.Name, err)
		}
	}
	if len(r.Metadata) > MaxJSONBytes {
		return AtField("body.metadata", "metadata are %d bytes long, more than %d",
			len(r.Metadata), MaxJSONBytes)
	}
	return nil
}

// CheckMetric reports whether a value can be kept: finite, and 0 or of a magnitude within bounds.
func CheckMetric(v float64) error {
	switch magnitude := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Errorf(Invalid, "the value is not a finite number")
	case magnitude != 0 && magnitude < MinMetric:
		return Errorf(Invalid, "%g is nearer to 0 than %g but not 0", v, MinMetric)
	case magnitude >= MaxMetric:
		return Errorf(Invalid, "%g is not below %g", v, MaxMetric)
	}
	return nil
}

// Get returns the value of a metric and whether it is there.
func (m Metrics) Get(name MetricName) (float64, bool) {
	i, ok := slices.BinarySearchFunc(m, name, compareMetric)
	if !ok {
		return 0, false
	}
	return m[i].Value, true
}

// Only returns the metrics that are named, in a new slice; all of them where names is empty.
func (m Metrics) Only(names []MetricName) Metrics {
	if len(names) == 0 {
		return m
	}
	var kept Metrics
	for _, x := range m {
		if slices.Contains(names, x.Name) {
			kept = append(kept, x)
		}
	}
	return kept
}

// Join returns the metrics of both, in a new slice; where both have one, the later wins. Of more
// than MaxJoinedMetrics those that come first by name are kept: in whatever order many messages of
// one time are joined, the same are.
func (m Metrics) Join(later Metrics) Metrics {
	joined := make(Metrics, 0, len(m)+len(later))
	for len(m) > 0 && len(later) > 0 {
		switch {
		case m[0].Name < later[0].Name:
			joined, m = append(joined, m[0]), m[1:]
		case m[0].Name > later[0].Name:
			joined, later = append(joined, later[0]), later[1:]
		default:
			joined, m, later = append(joined, later[0]), m[1:], later[1:]
		}
	}
	joined = append(append(joined, m...), later...)
	return joined[:min(len(joined), MaxJoinedMetrics)]
}

// Sorted puts the metrics into the order of their names. A name that occurs twice is an error.
func (m Metrics) Sorted() (Metrics, error) {
	if !slices.IsSortedFunc(m, func(a, b Metric) int { return compareMetric(a, b.Name) }) {
		slices.SortStableFunc(m, func(a, b Metric) int { return compareMetric(a, b.Name) })
	}
	for i := 1; i < len(m); i++ {
		if m[i].Name == m[i-1].Name {
			return nil, AtField("body.metrics", "metric %q occurs twice", m[i].Name)
		}
	}
	return m, nil
}

func compareMetric(m Metric, name MetricName) int { return cmp.Compare(m.Name, name) }

// MarshalJSON writes the metrics as an object of name to number.
func (m Metrics) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, x := range m {
		if i > 0 {
			text = append(text, ',')
		}
		name, err := json.Marshal(string(x.Name))
		if err != nil {
			return nil, err
		}
		text = append(append(text, name...), ':')
		text = strconv.AppendFloat(text, x.Value, 'g', -1, 64)
	}
	return append(text, '}'), nil
}

// UnmarshalJSON reads an object of name to number.
func (m *Metrics) UnmarshalJSON(text []byte) error {
	byName := map[MetricName]float64{}
	if err := json.Unmarshal(text, &byName); err != nil {
		return err
	}
	*m = (*m)[:0]
	for name, value := range byName {
		*m = append(*m, Metric{name, value})
	}
	_, err := m.Sorted()
	return err
}
