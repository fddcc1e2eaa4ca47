package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/andonhq/andon"
)

// Value is where a setting is kept, and in which form it is written.
type Value struct {
	form   string // for the help: "text", "duration", ...
	set    func(text string) error
	get    func() string // what set reads
	clear  func()        // makes it the zero value
	isZero func() bool
	secret bool
	list   bool                                                   // it may be a list of YAML
	read   func(path string, node *yaml.Node) (problems []string) // of a list of mappings
}

// Set takes a value from its text. The error does not say which setting it is.
func (v Value) Set(text string) error { return v.set(text) }

// Type returns the form of the value, for the help.
func (v Value) Type() string { return v.form }

// String returns the text that Set reads; of a secret it says only that there is one.
func (v Value) String() string {
	switch {
	case v.secret && v.isZero():
		return ""
	case v.secret:
		return Hidden
	}
	return v.get()
}

// Hidden is what is shown in the place of a secret.
const Hidden = "(hidden)"

// kept makes a Value of its two directions.
func kept[T any](
	to *T, form string, parse func(string) (T, error), show func(T) string,
) Value {
	var zero T
	return Value{
		form: form,
		set: func(s string) error {
			x, err := parse(s)
			if err == nil {
				*to = x
			}
			return err
		},
		get:    func() string { return show(*to) },
		clear:  func() { *to = zero },
		isZero: func() bool { return show(*to) == show(zero) },
	}
}

// That adds a rule to a value. It is checked when the value was set.
func (v Value) That(rule func() error) Value {
	set := v.set
	v.set = func(s string) error {
		if err := set(s); err != nil {
			return err
		}
		return rule()
	}
	return v
}

// OrNone makes a value that need not be given: nothing is its zero value.
func (v Value) OrNone() Value {
	set, get := v.set, v.get
	v.set = func(s string) error {
		if s == "" {
			v.clear()
			return nil
		}
		return set(s)
	}
	v.get = func() string {
		if v.isZero() {
			return ""
		}
		return get()
	}
	return v
}

// Text is any text.
func Text(to *string) Value {
	return kept(to, "text", func(s string) (string, error) { return s, nil }, strings.Clone)
}

// Given is text that can't be empty.
func Given(to *string) Value {
	return Text(to).That(func() error {
		if *to == "" {
			return fmt.Errorf("is empty")
		}
		return nil
	})
}

// Secret is text that is never shown.
func Secret(to *string) Value {
	v := Text(to)
	v.secret = true
	return v
}

// List is several texts, joined by commas; in YAML a list, too.
func List(to *[]string) Value {
	parse := func(s string) (items []string, err error) {
		if s == "" {
			return nil, nil
		}
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item == "" {
				return nil, fmt.Errorf("%q has an empty item", s)
			}
			items = append(items, item)
		}
		return items, nil
	}
	v := kept(to, "list", parse, func(items []string) string { return strings.Join(items, ",") })
	v.list = true
	return v
}

// Choice is one of a few words.
func Choice(to *string, words ...string) Value {
	parse := func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("%q is none of %s", s, strings.Join(words, ", "))
		}
		return s, nil
	}
	return kept(to, strings.Join(words, "|"), parse, strings.Clone)
}

// OnOff is a choice of two.
func OnOff(to *bool) Value {
	words := map[bool]string{true: "on", false: "off"}
	parse := func(s string) (bool, error) {
		if s != "on" && s != "off" {
			return false, fmt.Errorf("%q is none of on, off", s)
		}
		return s == "on", nil
	}
	return kept(to, "on|off", parse, func(on bool) string { return words[on] })
}

// Span is a length of time of at least so much: "30s", "1h30m".
func Span(to *time.Duration, least time.Duration) Value {
	parse := func(s string) (time.Duration, error) {
		d, err := andon.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%q is not a length of time of the form 30s, 5m or 1h30m", s)
		}
		if d.Std() < least {
			return 0, fmt.Errorf("%q is less than %s", s, andon.DurationOf(least))
		}
		return d.Std(), nil
	}
	show := func(d time.Duration) string { return andon.DurationOf(d).String() }
	return kept(to, "duration", parse, show)
}

// Count is a whole number above 0.
func Count(to *int) Value {
	parse := func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%q is not a whole number above 0", s)
		}
		return n, nil
	}
	return kept(to, "number", parse, strconv.Itoa)
}

// sizeUnits are the units of sizes, the greater first; decimal ones are for reading only.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1},
}

// Size is a number of bytes above 0: "512MB", "16KiB".
func Size(to *int64) Value { return kept(to, "size", parseSize, showSize) }

func parseSize(s string) (int64, error) {
	digits, unit := s, int64(1)
	for _, u := range sizeUnits {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = strings.TrimSpace(number), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is not a number of bytes of the form 4096, 512MB or 16MiB", s)
	}
	return n * unit, nil
}

func showSize(n int64) string {
	for _, u := range sizeUnits {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
