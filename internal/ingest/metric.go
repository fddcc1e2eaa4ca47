package ingest

import (
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// ParseMetric reads a decimal number as the value of a metric. Unlike strconv.ParseFloat it takes
// neither words nor hexadecimal, and a number too near to 0 is an error instead of 0.
func ParseMetric(text string) (float64, error) {
	v, err := parseDecimal(text)
	if err != nil {
		return 0, err
	}
	return v, andon.CheckMetric(v)
}

// ParseSwitch is ParseMetric that takes true and false, too, as 1 and 0.
func ParseSwitch(text string) (float64, error) {
	switch text {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	return ParseMetric(text)
}

func parseDecimal(text string) (float64, error) {
	if i := strings.IndexFunc(text, notDecimal); i >= 0 || text == "" {
		return 0, andon.Errorf(andon.Invalid, "%s is not a number", Clip(text))
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && v != 0: // out of range: infinite
		return 0, andon.Errorf(andon.Invalid, "%s is not below %g", Clip(text), andon.MaxMetric)
	case err != nil:
		return 0, andon.Errorf(andon.Invalid, "%s is not a number", Clip(text))
	case v == 0 && !isZero(text):
		return 0, andon.Errorf(andon.Invalid, "%s is nearer to 0 than %g but not 0",
			Clip(text), andon.MinMetric)
	}
	return v, nil
}

func notDecimal(r rune) bool {
	return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' && r != 'e' && r != 'E'
}

// isZero reports whether all digits before the exponent are 0.
func isZero(text string) bool {
	for _, c := range []byte(text) {
		if c >= '1' && c <= '9' {
			return false
		}
		if c|0x20 == 'e' {
			break
		}
	}
	return true
}

// Clip quotes what came from outside and shortens it, so that it can be shown.
func Clip(text string) string {
	const most = 64
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strconv.Quote(text)
}
