package andon_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
)

func TestParseTime(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"2020-04-24T14:40:00Z", "2020-04-24T14:40:00Z"},
		{"2020-04-24T14:40:00", "2020-04-24T14:40:00Z"},
		{"2020-04-24 14:40:00", "2020-04-24T14:40:00Z"},
		{"2020-04-24T14:40", "2020-04-24T14:40:00Z"},
		{"2020-04-24t14:40:00z", "2020-04-24T14:40:00Z"},
		{"2020-04-24", "2020-04-24T00:00:00Z"},
		{"2020-04-24T14:40:00+02:00", "2020-04-24T12:40:00Z"},
		{"2020-04-24T14:40:00-00:30", "2020-04-24T15:10:00Z"},
		{"2013-06-01T16:38:21.475000+00:00", "2013-06-01T16:38:21.475Z"},
		{"2020-02-29T00:00:00.1234567891Z", "2020-02-29T00:00:00.123456Z"},
		{"2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"},
		{"2016-12-31T23:59:60.25Z", "2016-12-31T23:59:59.25Z"},
		{"2017-01-01T00:59:60+01:00", "2016-12-31T23:59:59Z"},
		{"2016-12-31T15:59:60-0800", "2016-12-31T23:59:59Z"},
		{"2020-04-24T14:40:00+0200", "2020-04-24T12:40:00Z"},
		{"2020-04-24 14:40:00.5-03", "2020-04-24T17:40:00.5Z"},
		{"1970-01-02T00:00:00Z", "1970-01-02T00:00:00Z"},
		{"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"},
	} {
		got, err := andon.ParseTime(c.text)
		if err != nil || got.String() != c.want {
			t.Errorf("%q: %s, %v; want %s", c.text, got, err, c.want)
		}
	}
}

func TestParseTimeRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                           "not RFC 3339",
		"yesterday":                  "not RFC 3339",
		"2020-4-24":                  "not RFC 3339",
		"2020-04-24T":                "not RFC 3339",
		"2020-04-24X14:40:00Z":       "not RFC 3339",
		"2021-02-29":                 "date or a time of day that does not exist",
		"2020-13-01":                 "date or a time of day that does not exist",
		"2020-04-24T24:00:00Z":       "date or a time of day that does not exist",
		"2020-04-24T23:59:61Z":       "date or a time of day that does not exist",
		"2020-04-24T23:58:60Z":       "date or a time of day that does not exist",
		"2020-04-24T23:59:60+01:00":  "date or a time of day that does not exist",
		"2020-04-24T14:40:Z":         "not RFC 3339",
		"2020-04-24T14:40:00.Z":      "not RFC 3339",
		"2020-04-24T14:40.5Z":        "not RFC 3339", // half a minute to ISO 8601
		"2020-04-24T14:40:00+020":    "zone",
		"2020-04-24T14:40:00+2":      "zone",
		"2020-04-24T14:40:00+2460":   "zone",
		"2020-04-24T14:40:00Z and":   "zone",
		"1970-01-01T23:59:59Z":       "outside",
		"99999-01-01T00:00:00Z":      "not RFC 3339",
		"0000-01-01T00:00:00Z":       "outside",
		"9999-12-31T23:59:59-01:00":  "outside",
		strings.Repeat("9", 100_000): "not RFC 3339",
	} {
		_, err := andon.ParseTime(text)
		if err == nil || !strings.Contains(err.Error(), why) || andon.KindOf(err) != andon.Invalid {
			t.Errorf("%.40q: %v, want an error about %q", text, err, why)
		} else if len(err.Error()) > 300 {
			t.Errorf("%.40q: the error repeats all of it", text)
		}
	}
}

func TestParseUpperBound(t *testing.T) {
	for text, want := range map[string]string{
		"2020-04-24":           "2020-04-24T23:59:59.999999Z",
		"2020-04-24T00:00:00":  "2020-04-24T00:00:00Z",
		"9999-12-31":           "9999-12-31T23:59:59.999999Z",
		"2020-04-24T14:50:00Z": "2020-04-24T14:50:00Z",
	} {
		if got, err := andon.ParseUpperBound(text); err != nil || got.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestBoundsBeforeAllTime(t *testing.T) {
	for _, text := range []string{
		"1970-01-01", "0001-01-01T00:00:00Z", "1970-01-01T23:59:59+02:00",
	} {
		from, err := andon.ParseLowerBoundAt(text, andon.MinTime)
		if err != nil || from != 0 {
			t.Errorf("from %s: %d, %v; want no bound", text, from, err)
		}
		to, err := andon.ParseUpperBound(text)
		if span := (andon.Span{To: to}); err != nil || span.Empty() || span.Holds(andon.MinTime) {
			t.Errorf("to %s: %d, %v; want a bound before all times", text, to, err)
		}
	}
	from, err := andon.ParseLowerBoundAt("2020-04-24", andon.MinTime)
	if err != nil || from.String() != "2020-04-24T00:00:00Z" {
		t.Errorf("%s, %v", from, err)
	}
}

func TestParseEpoch(t *testing.T) {
	for _, c := range []struct{ text, precision, want string }{
		{"1594598726.5393324", "s", "2020-07-13T00:05:26.539332Z"},
		{"1594598726", "s", "2020-07-13T00:05:26Z"},
		{"1587739200000", "", "2020-04-24T14:40:00Z"},
		{"1587739200000.5", "ms", "2020-04-24T14:40:00.0005Z"},
		{"1587739200000000", "us", "2020-04-24T14:40:00Z"},
		{"1587739200000000999", "ns", "2020-04-24T14:40:00Z"},
		{"1.5877392e12", "ms", "2020-04-24T14:40:00Z"},
		{"1.5877392E+12", "ms", "2020-04-24T14:40:00Z"},
	} {
		unit, err := andon.ParsePrecision(c.precision)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := andon.ParseEpoch(c.text, unit); err != nil || got.String() != c.want {
			t.Errorf("%s %s: %s, %v; want %s", c.text, c.precision, got, err, c.want)
		}
	}
	for _, text := range []string{
		"", "-1", "0", "1e", "1e9999", "abc", ".5", "1.", "1.2.3", "NaN", "99999999999999999999999",
		"0x10",
	} {
		if got, err := andon.ParseEpoch(text, andon.Milliseconds); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
}

// TestParseEpochAssumed: where no one said which unit it is, a number that can't be milliseconds is
// refused with what to say.
func TestParseEpochAssumed(t *testing.T) {
	for text, hint := range map[string]string{
		"1735689600": "precision=s", "978307199999": "2000-12-31T23:59:59.999Z", "5": "1970-01-01",
		"1735689600000000": "precision=us", "1735689600000000000": "precision=ns",
	} {
		got, err := andon.ParseEpoch(text, andon.Assumed)
		if err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %s, %v; want a hint at %s", text, got, err, hint)
		}
	}
	if got, err := andon.ParseEpoch("978307200000", andon.Assumed); err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := andon.ParseEpoch("1735689600", andon.Milliseconds); err != nil {
		t.Errorf("stated: %s, %v", got, err)
	}
}

// TestBoundsRelativeToNow: what is not absolute is of the clock, and a day is a whole UTC day.
func TestBoundsRelativeToNow(t *testing.T) {
	now, err := andon.ParseTime("2020-04-24T14:40:00.5Z")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2]string{
		"now":        {"2020-04-24T14:40:00.5Z", "2020-04-24T14:40:00.5Z"},
		"24h":        {"2020-04-23T14:40:00.5Z", "2020-04-23T14:40:00.5Z"},
		"1d12h":      {"2020-04-23T02:40:00.5Z", "2020-04-23T02:40:00.5Z"},
		"today":      {"2020-04-24T00:00:00Z", "2020-04-24T23:59:59.999999Z"},
		"yesterday":  {"2020-04-23T00:00:00Z", "2020-04-23T23:59:59.999999Z"},
		"2020-04-21": {"2020-04-21T00:00:00Z", "2020-04-21T23:59:59.999999Z"},
	} {
		from, err1 := andon.ParseLowerBoundAt(text, now)
		to, err2 := andon.ParseUpperBoundAt(text, now)
		if got := [2]string{from.String(), to.String()}; got != want || err1 != nil || err2 != nil {
			t.Errorf("%s: %v, %v, %v; want %v", text, got, err1, err2, want)
		}
	}
	if from, err := andon.ParseLowerBoundAt("200000d", now); from != 0 || err != nil {
		t.Errorf("before all that is kept: %d, %v", from, err)
	}
	for _, text := range []string{"24", "-24h", "tomorrow", "Now", ""} {
		if got, err := andon.ParseLowerBoundAt(text, now); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
}

// FuzzParseTime holds the parser against the standard library's, which is slower and
// knows one form.
func FuzzParseTime(f *testing.F) {
	f.Add("2020-04-24T14:40:00Z")
	f.Add("2020-04-24T14:40:00.123456789+05:45")
	f.Add("2020-02-30T14:40:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := andon.ParseTime(text)
		want, wantErr := time.Parse(time.RFC3339Nano, text)
		micros := want.UnixMicro()
		inside := micros >= int64(andon.MinTime) && micros <= int64(andon.MaxTime)
		if wantErr == nil && inside && (err != nil || int64(got) != micros) {
			t.Errorf("%q: %s, %v; the standard library says %s", text, got, err, want)
		}
		if err != nil {
			return
		}
		if again, err := andon.ParseTime(got.String()); err != nil || again != got {
			t.Errorf("%q: %s is read back as %s, %v", text, got, again, err)
		}
	})
}

// FuzzParseEpoch holds the parser against rational numbers, which lose no digit.
func FuzzParseEpoch(f *testing.F) {
	f.Add("1594598726.5393324", int8(6))
	f.Add("15.945e8", int8(3))
	f.Add("1e-3", int8(-3))
	precisions := []andon.Precision{
		andon.Seconds, andon.Milliseconds, andon.Microseconds, andon.Nanoseconds,
	}
	f.Fuzz(func(t *testing.T, text string, unit int8) {
		precision := precisions[uint8(unit)%4]
		got, err := andon.ParseEpoch(text, precision)
		if err != nil {
			return
		}
		if len(text) > 64 {
			return // rationals of what is long take long
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no number, and was read as %s", text, got)
		}
		digits := big.NewInt(int64(max(precision, -precision)))
		shift := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), digits, nil))
		if precision < 0 {
			shift.Inv(shift)
		}
		want.Mul(want, shift)
		micros := new(big.Int).Quo(want.Num(), want.Denom())
		if micros.Int64() != int64(got) {
			t.Errorf("%q: %d, want %s", text, int64(got), micros)
		}
	})
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]string{
		"30d": "30d", "1h30m": "1h30m", "90m": "1h30m", "2w": "14d", "1500ms": "1s500ms",
		"0s": "0s", "5us": "5us",
	} {
		if d, err := andon.ParseDuration(text); err != nil || d.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, d, err, want)
		}
	}
	for _, text := range []string{
		"", "5", "-5m", "5x", "m", "1.5h", "999999999d", "9999999999999999999s", "forever",
	} {
		if d, err := andon.ParseDuration(text); err == nil {
			t.Errorf("%q was read as %s", text, d)
		}
	}
	var r andon.Retention
	err := r.UnmarshalText([]byte("forever"))
	if err != nil || r != andon.Forever || r.String() != "forever" {
		t.Errorf("forever: %s, %v", r, err)
	}
	for _, text := range []string{"0s", "ever", "500ms"} {
		if err := r.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("retention %q was read as %s", text, r)
		}
	}
	if d := andon.MaxDuration.Std(); d <= 0 {
		t.Errorf("the longest duration became %s", d)
	}
}

func TestHorizonOnlyMovesForward(t *testing.T) {
	now := andon.Time(100 * 86_400_000_000)
	tenant := andon.NewTenant("t")
	if h := tenant.Horizon(now); h.Events != 0 || h.Readings.String() != "1970-03-12T00:00:00Z" {
		t.Errorf("a new tenant keeps from %+v", h)
	}
	if err := tenant.Events.UnmarshalText([]byte("7d")); err != nil {
		t.Fatal(err)
	}
	week := tenant.Horizon(now).Events
	tenant.UpdateFloor(now, true, true)
	tenant.Events = andon.Forever
	if h := tenant.Horizon(now.Add(1)).Events; h != week {
		t.Errorf("forever after 7d keeps from %s, want %s", h, week)
	}
	if err := tenant.CheckEventTime(week, now); err != nil {
		t.Errorf("at the horizon: %v", err)
	}
	tooFar := now.Add(600_000_001)
	if tenant.CheckEventTime(week-1, now) == nil || tenant.CheckEventTime(tooFar, now) == nil {
		t.Error("times outside were admitted")
	}
}

// TestTimeAsText: times are written as package time writes them: the first and the last instant of
// each day of 430 years, and times with fractions of all lengths.
// TestDatesOfAllDays: each day of 400 years, after which the calendar repeats, and of the last
// year.
func TestDatesOfAllDays(t *testing.T) {
	const day = andon.Time(24 * time.Hour / time.Microsecond)
	check := func(from andon.Time, days int) {
		at := time.UnixMicro(int64(from)).UTC()
		for range days {
			got, want := andon.Time(at.UnixMicro()).String(), at.Format(time.RFC3339)
			if got != want {
				t.Fatalf("%s, want %s", got, want)
			}
			at = at.AddDate(0, 0, 1)
		}
	}
	check(0, 400*365+97)
	check(andon.MaxTime/day*day-365*day, 366)
}

func TestTimeAsText(t *testing.T) {
	const day, days, last = 86_400_000_000, 430 * 366, int64(andon.MaxTime)
	check := func(at int64) {
		std := time.UnixMicro(at).UTC().Format(time.RFC3339Nano)
		if got := andon.Time(at).String(); got != std {
			t.Fatalf("%d: got %s, want %s", at, got, std)
		}
	}
	for at := int64(0); at < days*day; at += day {
		check(at)
		check(at + day - 1)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for cut := int64(1); cut <= 1_000_000; cut *= 10 {
		for range 1000 {
			check(dice.Int64N(last) / cut * cut)
		}
	}
	for _, outside := range []int64{-1, -day, math.MinInt64 / 2, last + 1} {
		check(outside)
	}
}

func BenchmarkTimeAsText(b *testing.B) {
	var text []byte
	b.Run("ceiling", func(b *testing.B) {
		for b.Loop() {
			std := time.UnixMicro(1_764_806_400_021_000).UTC()
			text = std.AppendFormat(text[:0], time.RFC3339Nano)
		}
	})
	b.Run("andon", func(b *testing.B) {
		for b.Loop() {
			text, _ = andon.Time(1_764_806_400_021_000).AppendText(text[:0])
		}
	})
}

func BenchmarkParseTime(b *testing.B) {
	for _, text := range []string{"2020-04-24T14:40:00Z", "2013-06-01T16:38:21.475000+00:00"} {
		b.Run("andon/"+strconv.Itoa(len(text)), func(b *testing.B) {
			for b.Loop() {
				_, _ = andon.ParseTime(text)
			}
		})
		b.Run("standard/"+strconv.Itoa(len(text)), func(b *testing.B) {
			for b.Loop() {
				_, _ = time.Parse(time.RFC3339Nano, text)
			}
		})
	}
}
