package plan

import _ "embed" // what was measured

//go:embed measured.yaml
var measuredText []byte

// Measured is what was measured of the stores, and what the planner goes by.
type Measured struct {
	// Server is what a request costs over HTTP, and Guide what is a rule and no measurement.
	Server map[string]Measurement `yaml:"server"`
	Guide  map[string]Measurement `yaml:"guide"`
	// Stores are the figures of each store, by its name.
	Stores map[string]map[string]Measurement `yaml:"stores"`
}

// Measurement is one figure.
type Measurement struct {
	What  string  `yaml:"what"`
	Value float64 `yaml:"value"`
	Unit  string  `yaml:"unit"`
	// Of is what it was measured with: the bytes of an event, the metrics of a reading.
	Of float64 `yaml:"of"`
	// Measured names the measurement, or where a rule is from.
	Measured string `yaml:"measured"`
}

// ReadMeasured returns what is built in.
func ReadMeasured() (m Measured, err error) {
	return m, readYAML("measured.yaml", measuredText, &m)
}
