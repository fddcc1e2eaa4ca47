package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// Value is where a setting is kept. String gives the form that Set reads; of a secret it says only
// that there is one.
type Value interface {
	Set(text string) error
	String() string
	Type() string // for the help: "text", "duration", ...
}

// textValue is any text.
type textValue struct{ to *string }

func text(to *string) Value { return textValue{to} }

func (v textValue) Set(s string) error { *v.to = s; return nil }
func (v textValue) String() string     { return *v.to }
func (v textValue) Type() string       { return "text" }

// givenValue is text that can't be empty.
type givenValue struct{ textValue }

func given(to *string) Value { return givenValue{textValue{to}} }

func (v givenValue) Set(s string) error {
	if s == "" {
		return fmt.Errorf("is empty")
	}
	return v.textValue.Set(s)
}

// Hidden is what is shown in the place of a secret.
const Hidden = "(hidden)"

// secretValue is text that is never shown.
type secretValue struct{ to *string }

func secret(to *string) Value { return secretValue{to} }

func (v secretValue) Set(s string) error { *v.to = s; return nil }

func (v secretValue) String() string {
	if *v.to == "" {
		return ""
	}
	return Hidden
}
func (v secretValue) Type() string { return "text" }

// listValue is several texts, joined by commas.
type listValue struct{ to *[]string }

func list(to *[]string) Value { return listValue{to} }

func (v listValue) Set(s string) error {
	var items []string
	if s == "" {
		*v.to = nil
		return nil
	}
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item == "" {
			return fmt.Errorf("%q has an empty item", s)
		}
		items = append(items, item)
	}
	*v.to = items
	return nil
}
func (v listValue) String() string { return strings.Join(*v.to, ",") }
func (v listValue) Type() string   { return "list" }

// onOff is a choice of two.
func onOff(to *string) Value { return choice(to, "on", "off") }

// choiceValue is one of a few words.
type choiceValue struct {
	to    *string
	words []string
}

func choice(to *string, words ...string) Value { return choiceValue{to, words} }

func (v choiceValue) Set(s string) error {
	if !slices.Contains(v.words, s) {
		return fmt.Errorf("%q is none of %s", s, strings.Join(v.words, ", "))
	}
	*v.to = s
	return nil
}
func (v choiceValue) String() string { return *v.to }
func (v choiceValue) Type() string   { return strings.Join(v.words, "|") }

// optionalValue is another value, or nothing.
type optionalValue struct {
	Value
	clear func()
	none  func() bool // nil where the value itself is empty then
}

// choiceOrNone is a choice that need not be made.
func choiceOrNone(to *string, words ...string) Value {
	return optionalValue{choice(to, words...), func() { *to = "" }, nil}
}

func (v optionalValue) Set(s string) error {
	if s == "" {
		v.clear()
		return nil
	}
	return v.Value.Set(s)
}

func (v optionalValue) String() string {
	if v.none != nil && v.none() {
		return ""
	}
	return v.Value.String()
}

// spanValue is a length of time: "30s", "1h30m".
type spanValue struct {
	to    *time.Duration
	least time.Duration
}

func span(to *time.Duration, least time.Duration) Value { return spanValue{to, least} }

// spanOrNone is a length of time that need not be given.
func spanOrNone(to *time.Duration, least time.Duration) Value {
	return optionalValue{
		span(to, least), func() { *to = 0 }, func() bool { return *to == 0 },
	}
}

func (v spanValue) Set(s string) error {
	d, err := andon.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a length of time of the form 30s, 5m or 1h30m", s)
	}
	if d.Std() < v.least {
		return fmt.Errorf("%q is less than %s", s, andon.DurationOf(v.least))
	}
	*v.to = d.Std()
	return nil
}
func (v spanValue) String() string { return andon.DurationOf(*v.to).String() }
func (v spanValue) Type() string   { return "duration" }

// countValue is a whole number above 0.
type countValue struct{ to *int64 }

func count(to *int64) Value { return countValue{to} }

func (v countValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a whole number above 0", s)
	}
	*v.to = n
	return nil
}
func (v countValue) String() string { return strconv.FormatInt(*v.to, 10) }
func (v countValue) Type() string   { return "number" }

// sizeValue is a number of bytes: "512MB", "16KiB".
type sizeValue struct{ to *int64 }

func size(to *int64) Value { return sizeValue{to} }

// sizeUnits are the units of sizes, the greater first; decimal ones are for reading only.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1},
}

func (v sizeValue) Set(s string) error {
	digits, unit := s, int64(1)
	for _, u := range sizeUnits {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = strings.TrimSpace(number), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a number of bytes of the form 4096, 512MB or 16MiB", s)
	}
	*v.to = n * unit
	return nil
}

func (v sizeValue) String() string {
	for _, u := range sizeUnits {
		if *v.to >= u.bytes && *v.to%u.bytes == 0 {
			return strconv.FormatInt(*v.to/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(*v.to, 10)
}
func (v sizeValue) Type() string { return "size" }
