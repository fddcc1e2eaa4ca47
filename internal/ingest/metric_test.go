package ingest_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/andonhq/andon/internal/ingest"
)

func TestParseMetric(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "-0.0e99": 0, "0e-999": 0, "21.5": 21.5, "+.5": 0.5, "1E3": 1000,
		"0.1": 0.1, "9.99e125": 9.99e125, "1e-130": 1e-130, "27.18281828459045": 27.18281828459045,
	} {
		if got, err := ingest.ParseMetric(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":       `"" is not a number`,
		"abc":    `"abc" is not a number`,
		"NaN":    `"NaN" is not a number`,
		"Inf":    `"Inf" is not a number`,
		"0x1p2":  `"0x1p2" is not a number`,
		"1_000":  `"1_000" is not a number`,
		"1,5":    `"1,5" is not a number`,
		"1e":     `"1e" is not a number`,
		"--1":    `"--1" is not a number`,
		"1e999":  `"1e999" is not below 1e+126`,
		"-1e999": `"-1e999" is not below 1e+126`,
		"1e126":  `1e+126 is not below 1e+126`,
		"1e-131": `1e-131 is nearer to 0 than 1e-130 but not 0`,
		"1e-999": `"1e-999" is nearer to 0 than 1e-130 but not 0`,
	} {
		if _, err := ingest.ParseMetric(text); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// FuzzParseMetric: what is kept is what strconv reads, and nothing but 0 becomes 0.
func FuzzParseMetric(f *testing.F) {
	for _, text := range []string{"0", "1.5", "-1e-400", "1e999", "inf", "0x1p-2", "00012.5e+3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ingest.ParseMetric(text)
		if err != nil {
			return
		}
		want, err := strconv.ParseFloat(text, 64)
		if err != nil || got != want || math.IsInf(got, 0) || math.IsNaN(got) {
			t.Errorf("%q: %v, want %v, %v", text, got, want, err)
		}
	})
}

func TestParseSwitch(t *testing.T) {
	for text, want := range map[string]float64{"true": 1, "false": 0, "21.5": 21.5} {
		if got, err := ingest.ParseSwitch(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := ingest.ParseSwitch("True"); err == nil {
		t.Errorf("True is %v", got)
	}
}
