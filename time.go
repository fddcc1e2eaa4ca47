package andon

import (
	"strconv"
	"strings"
	"time"
)

// Time is an instant in microseconds since 1970-01-01T00:00:00Z. 0 means absent, so the first time
// that can be kept is MinTime.
type Time int64

// The span of times that can be kept.
const (
	MinTime Time = 86_400_000_000           // 1970-01-02T00:00:00Z
	MaxTime Time = 253_402_300_799_999_999  // 9999-12-31T23:59:59.999999Z
	day          = Duration(86_400_000_000) // every UTC day is as long: there are no leap seconds
	hour         = Duration(3_600_000_000)  //
	second       = Duration(1_000_000)      //
)

// TimeOf returns t, finer digits cut.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Std returns the time as the standard library has it, in UTC.
func (t Time) Std() time.Time { return time.UnixMicro(int64(t)).UTC() }

// String returns the time in RFC 3339, UTC, with as many digits of the fraction as it needs.
func (t Time) String() string {
	b, _ := t.AppendText(make([]byte, 0, len("2006-01-02T15:04:05.000000Z"))) // it can't fail
	return string(b)
}

// Add returns t later by d.
func (t Time) Add(d Duration) Time { return t + Time(d) }

// Sub returns how much later t is than u; 0 where it is not, because durations are never negative.
func (t Time) Sub(u Time) Duration { return max(Duration(t-u), 0) }

// Earlier returns the earlier of two times, of which 0 is none.
func Earlier(a, b Time) Time {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// Day returns the UTC day that t is in, counted from 1970-01-01.
func (t Time) Day() uint32 { return uint32(t / Time(day)) }

// Hour returns the UTC hour that t is in, counted from 1970-01-01T00.
func (t Time) Hour() uint32 { return uint32(t / Time(hour)) }

// DayStart returns the first instant of a day as Time.Day counts them.
func DayStart(d uint32) Time { return Time(d) * Time(day) }

// HourStart returns the first instant of an hour as Time.Hour counts them.
func HourStart(h uint32) Time { return Time(h) * Time(hour) }

// AppendText writes the time as String does. Package time takes longer, and a page of 100 devices
// has 400 times.
func (t Time) AppendText(b []byte) ([]byte, error) {
	if t < 0 || t > MaxTime {
		return t.Std().AppendFormat(b, time.RFC3339Nano), nil
	}
	b = append(b, "0000-00-00T00:00:00.000000Z"...)
	at := (*[27]byte)(b[len(b)-27:])
	year, month, date := calendar(t.Day())
	seconds := uint32(uint64(t) % uint64(day) / uint64(second))
	setPair(at[0:], year/100)
	setPair(at[2:], year%100)
	setPair(at[5:], month)
	setPair(at[8:], date)
	setPair(at[11:], seconds/3600)
	setPair(at[14:], seconds/60%60)
	setPair(at[17:], seconds%60)
	end := 19
	if fraction := uint32(uint64(t) % uint64(second)); fraction != 0 {
		setPair(at[20:], fraction/10_000)
		setPair(at[22:], fraction/100%100)
		setPair(at[24:], fraction%100)
		for end = 26; at[end-1] == '0'; {
			end--
		}
	}
	at[end] = 'Z'
	return b[:len(b)-26+end], nil
}

// pairs has all numbers of two digits.
const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839" +
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879" +
	"8081828384858687888990919293949596979899"

func setPair(to []byte, n uint32) { to[0], to[1] = pairs[2*n], pairs[2*n+1] }

// calendar returns the date of a day as Time.Day counts them. Years are taken from March on, so
// that the leap day is the last of a year, and a day is about 2141/65536 of a month (Neri and
// Schneider, Euclidean affine functions and their application to calendar algorithms, 2023).
func calendar(day uint32) (year, month, date uint32) {
	const toMarch0, era = 719_468, 146_097 // days from 0000-03-01 to 1970-01-01; of 400 years
	quarters := 4*(day+toMarch0) + 3
	century, ofCentury := quarters/era, quarters%era/4
	const yearly = 1<<32/1461 + 1 // of a quarter of a day: 2^32 is a year
	scaled := yearly * uint64(4*ofCentury+3)
	year = 100*century + uint32(scaled>>32)
	ofYear := uint32(scaled) / yearly / 4
	months := 2141*ofYear + 197_913
	month, date = months>>16, months&0xffff/2141+1
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, date
}

// MarshalJSON writes the time as a string; 0, absent, as null.
func (t Time) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	b, err := t.AppendText([]byte{'"'})
	return append(b, '"'), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Time) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*t = 0
		return nil
	}
	s, err := strconv.Unquote(string(text))
	if err != nil {
		return Errorf(Invalid, "time %s is not a string", text)
	}
	*t, err = ParseTime(s)
	return err
}

func (t Time) check(text string) (Time, error) {
	if t < MinTime || t > MaxTime {
		return 0, Errorf(Invalid, "time %q is outside %s to %s", clip(text), MinTime, MaxTime)
	}
	return t, nil
}

// ParseTime reads RFC 3339. Without a zone the time is UTC, a zone may be +0100 or +01, a space may
// stand for the T, a leap second is the second before it, and a date alone is its first instant.
// Digits finer than microseconds are cut.
func ParseTime(text string) (Time, error) {
	t, _, err := parseBound(text)
	if err != nil {
		return 0, err
	}
	return t.check(text)
}

// ParseUpperBound reads the upper bound of a range, itself included: as ParseTime, but a date alone
// means that whole day. A range that ends before MinTime is empty.
func ParseUpperBound(text string) (Time, error) {
	t, dateOnly, err := parseBound(text)
	if err == nil && dateOnly {
		t = t.Add(day) - 1
	}
	if err == nil && t < MinTime {
		t = 1 // before all that is kept, and still a bound
	}
	return t, err
}

// ParseLowerBoundAt reads the lower bound of a range, itself included: as ParseTime, but what lies
// before MinTime is 0, no bound. It takes what is relative to now as well: 24h is so long ago,
// today and yesterday are UTC days, now is now.
func ParseLowerBoundAt(text string, now Time) (Time, error) {
	t, _, err := parseBound(relative(text, now))
	if t < MinTime {
		t = 0
	}
	return t, orRelative(err)
}

// ParseUpperBoundAt is ParseUpperBound, and takes what ParseLowerBoundAt does: today and yesterday
// are whole days.
func ParseUpperBoundAt(text string, now Time) (Time, error) {
	t, err := ParseUpperBound(relative(text, now))
	return t, orRelative(err)
}

// orRelative says what else a bound may be.
func orRelative(err error) error {
	if err == nil {
		return nil
	}
	return Errorf(Invalid, "%w; a date alone works, too, and 24h (ago), today, yesterday, now", err)
}

// relative writes a time that is relative to now as a time, or as the date of a day. Other text it
// returns as it is.
func relative(text string, now Time) string {
	const date = len("2006-01-02")
	switch text {
	case "now":
		return now.String()
	case "today":
		return now.String()[:date]
	case "yesterday":
		return (now - Time(day)).String()[:date]
	}
	ago, err := ParseDuration(text)
	if err != nil {
		return text
	}
	return max(now-Time(ago), 1).String()
}

// parseBound reads a time of the years 0 to 9999. It completes the text to what RFC 3339 asks for.
func parseBound(text string) (t Time, dateOnly bool, err error) {
	bad := func(why string) (Time, bool, error) {
		return 0, false, Errorf(Invalid, "time %q %s", clip(text), why)
	}
	const date, hour, notSo = len("2006-01-02"), len("2006-01-02T15"),
		"is not RFC 3339, such as 2026-11-20T06:00:00Z"
	form := text
	if dateOnly = len(text) == date; dateOnly {
		form += "T00:00"
	}
	if len(form) <= hour || form[hour] != ':' || strings.IndexByte("Tt ", form[date]) < 0 {
		return bad(notSo)
	}
	clock, zone := form[date+1:], "Z"
	if i := strings.IndexAny(clock, "Zz+- "); i >= 0 {
		clock, zone = clock[:i], clock[i:]
	}
	zone, ok := wholeZone(zone)
	if !ok {
		return bad("has something other than a zone (Z or +01:00) at its end")
	}
	if len(clock) == len("15:04") {
		clock += ":00"
	}
	leap := strings.Index(clock, ":60") == len("15:04")
	if leap { // a leap second is the second before it
		clock = strings.Replace(clock, ":60", ":59", 1)
	}
	at, err := time.Parse(time.RFC3339, form[:date]+"T"+clock+zone)
	switch t = TimeOf(at); {
	case err != nil && !strings.HasSuffix(err.Error(), "out of range"):
		return bad(notSo)
	case err != nil || leap && at.UTC().Format("15:04") != "23:59":
		return bad("names a date or a time of day that does not exist")
	}
	return t, dateOnly, nil
}

// wholeZone writes what a time ends in as RFC 3339 has it: Z, or an offset from UTC. ISO 8601 has
// +0100 and +01, too.
func wholeZone(zone string) (whole string, ok bool) {
	switch len(zone) {
	case len("Z"):
		return "Z", zone == "Z" || zone == "z"
	case len("+01"):
		zone += ":00"
	case len("+0100"):
		zone = zone[:3] + ":" + zone[3:]
	}
	return zone, len(zone) == len("+01:00") && zone[1:3] <= "23" && zone[4:] <= "59"
}

// Precision is the unit of a time that is sent as a number: the power of ten that makes it
// microseconds.
type Precision int8

// The units of numeric times.
const (
	Seconds      Precision = 6
	Milliseconds Precision = 3
	Microseconds Precision = 0
	Nanoseconds  Precision = -3
	// Assumed is milliseconds that no one stated. A number that would then fall before 2001 is
	// refused: it is nearly always seconds, and would be of January 1970.
	Assumed Precision = 127
)

// ParsePrecision reads s, ms, us or ns; the empty text is Assumed.
func ParsePrecision(text string) (Precision, error) {
	switch text {
	case "s":
		return Seconds, nil
	case "ms":
		return Milliseconds, nil
	case "":
		return Assumed, nil
	case "us":
		return Microseconds, nil
	case "ns":
		return Nanoseconds, nil
	}
	return 0, Errorf(Invalid, "precision %q is none of s, ms, us, ns", clip(text))
}

// ParseEpoch reads a JSON number that counts the unit from 1970-01-01. It works on the text, so
// that no digit is lost to floating point; digits finer than microseconds are cut.
func ParseEpoch(text string, unit Precision) (Time, error) {
	if unit != Assumed {
		t, err := parseEpoch(text, unit)
		if err != nil {
			return 0, err
		}
		return t.check(text)
	}
	t, err := parseEpoch(text, Milliseconds)
	if err != nil {
		return 0, err
	}
	const least Time = 978_307_200_000_000 // 2001-01-01T00:00:00Z
	switch {
	case t < least:
		return 0, Errorf(Invalid, "time %s would be of %s in milliseconds, which are assumed: "+
			"say precision=s if it counts seconds, precision=ms if it is right, or send RFC 3339",
			clip(text), t)
	case t > MaxTime:
		return 0, Errorf(Invalid, "time %s would be after %s in milliseconds, which are assumed: "+
			"say precision=us or precision=ns if it counts those, or send RFC 3339",
			clip(text), MaxTime)
	}
	return t, nil
}

// parseEpoch returns a time above MaxTime where the number is larger than any that can be kept.
func parseEpoch(text string, unit Precision) (Time, error) {
	bad := func() (Time, error) {
		return 0, Errorf(Invalid, "time %q is not a number that a time can be", clip(text))
	}
	mantissa, exponent := text, int(unit)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil || n < -100 || n > 100 {
			return bad()
		}
		mantissa, exponent = text[:i], exponent+n
	}
	whole, decimals, hasPoint := strings.Cut(mantissa, ".")
	all, point := whole+decimals, len(whole)+exponent // point digits are whole microseconds
	if strings.Trim(all, "0123456789") != "" || whole == "" || hasPoint && decimals == "" {
		return bad()
	}
	var t Time
	for i := range point {
		digit := Time(0)
		if i < len(all) {
			digit = Time(all[i] - '0')
		}
		if t = t*10 + digit; t > MaxTime {
			break
		}
	}
	return t, nil
}

// clip shortens what came from outside before it is shown.
func clip(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Duration is a length of time in microseconds, never negative.
type Duration int64

// DurationOf returns d, finer digits cut; 0 where it is negative.
func DurationOf(d time.Duration) Duration { return max(Duration(d.Microseconds()), 0) }

// Std returns the duration as the standard library has it, at most about 292 years.
func (d Duration) Std() time.Duration {
	const most = Duration(1<<63-1) / 1000
	return time.Duration(min(d, most)) * time.Microsecond
}

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return float64(d) / float64(second) }

var durationUnits = []struct {
	name string
	size Duration
}{{"d", day}, {"h", hour}, {"m", 60 * second}, {"s", second}, {"ms", 1000}, {"us", 1}}

// String returns the duration as ParseDuration reads it: "30d", "1h30m", "0s".
func (d Duration) String() string {
	if d <= 0 {
		return "0s"
	}
	var text []byte
	for _, u := range durationUnits {
		if n := d / u.size; n > 0 {
			text = append(strconv.AppendInt(text, int64(n), 10), u.name...)
			d -= n * u.size
		}
	}
	return string(text)
}

// MaxDuration is the longest duration that can be set: about 1,000 years.
const MaxDuration = 365_000 * day

// ParseDuration reads whole numbers with the units w, d, h, m, s, ms and us, the greater first:
// "30d", "1h30m".
func ParseDuration(text string) (Duration, error) {
	bad := Errorf(Invalid, "duration %q is not of the form 30d, 12h or 1h30m", clip(text))
	var total Duration
	for rest := text; rest != "" || text == ""; {
		n := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if n <= 0 {
			return 0, bad
		}
		count, err := strconv.ParseInt(rest[:n], 10, 32)
		if err != nil {
			return 0, bad
		}
		rest = rest[n:]
		end := strings.IndexFunc(rest, func(r rune) bool { return r >= '0' && r <= '9' })
		if end < 0 {
			end = len(rest)
		}
		size, ok := unitSize(rest[:end])
		if !ok {
			return 0, bad
		}
		if Duration(count) > (MaxDuration-total)/size {
			return 0, Errorf(Invalid, "duration %q is longer than %s", clip(text), MaxDuration)
		}
		total, rest = total+Duration(count)*size, rest[end:]
	}
	return total, nil
}

func unitSize(name string) (Duration, bool) {
	if name == "w" {
		return 7 * day, true
	}
	for _, u := range durationUnits {
		if u.name == name {
			return u.size, true
		}
	}
	return 0, false
}

// MarshalText writes the duration as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDuration(string(text))
	return err
}

// Retention is how long something is kept; 0 is forever.
type Retention Duration

// Forever keeps everything.
const Forever Retention = 0

// String returns "forever" or a duration.
func (r Retention) String() string {
	if r == Forever {
		return "forever"
	}
	return Duration(r).String()
}

// MarshalText writes the retention as String does.
func (r Retention) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads "forever" or a duration of at least a second.
func (r *Retention) UnmarshalText(text []byte) error {
	if string(text) == "forever" {
		*r = Forever
		return nil
	}
	d, err := ParseDuration(string(text))
	if err != nil {
		return Errorf(Invalid, "retention %q is neither \"forever\" nor of the form 30d",
			clip(string(text)))
	}
	if d < second {
		return Errorf(Invalid, "retention %q is shorter than a second", clip(string(text)))
	}
	*r = Retention(d)
	return nil
}

// horizon returns the oldest time that is still kept at now.
func (r Retention) horizon(now Time) Time {
	if r == Forever || Time(r) >= now {
		return 0
	}
	return now - Time(r)
}
