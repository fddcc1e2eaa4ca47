package httpapi

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Answers are written by the tags of their types, from which the document is made too. The bytes
// are those of encoding/json, which a test compares; that takes three times as long, most of it to
// check and compact what the types write themselves.

// paper is what a value is written on. It may be used again for the next one.
type paper struct {
	text []byte
	of   reflect.Type // of the last value
	*shape
}

// writer appends the value of a type that is at an address.
type writer func([]byte, unsafe.Pointer) []byte

// shape is how values of a type are written.
type shape struct {
	write   writer    // nil: by encoding/json
	objects []uintptr // offsets of what is JSON already, unless it is damaged
}

// shapeOf returns how what pointers of a type point to is written.
func (a *API) shapeOf(t reflect.Type) *shape {
	known, ok := a.shapes.Load(t)
	if !ok {
		s := &shape{}
		s.write = s.writerOf(t.Elem())
		known, _ = a.shapes.LoadOrStore(t, s)
	}
	return known.(*shape)
}

// json writes what a pointer points to. It reports false where encoding/json is to write it, which
// says what is wrong with an object that is damaged.
func (p *paper) json(a *API, value any) bool {
	if t := reflect.TypeOf(value); t != p.of {
		p.of, p.shape = t, a.shapeOf(t)
	}
	at := reflect.ValueOf(value).UnsafePointer()
	for _, object := range p.objects {
		if !isObject(*(*string)(unsafe.Add(at, object))) {
			return false
		}
	}
	if p.write != nil {
		p.text = p.write(p.text[:0], at)
	}
	return p.write != nil
}

// isObject reports whether text is a JSON object, or absent.
func isObject(text string) bool {
	s := jsonscan.Scanner{Text: text}
	return text == "" || s.Skip(0) == nil && s.End() == nil
}

// writing makes a writer of what appends a value, whose type may have another name.
func writing[T any](appendTo func([]byte, T) []byte) writer {
	return func(b []byte, at unsafe.Pointer) []byte { return appendTo(b, *(*T)(at)) }
}

func appendWhole[T int | uint8](b []byte, n T) []byte { return strconv.AppendInt(b, int64(n), 10) }

func (s *shape) writerOf(t reflect.Type) writer {
	switch t {
	case reflect.TypeFor[andon.Time]():
		return func(b []byte, at unsafe.Pointer) []byte { return appendTime(b, *(*andon.Time)(at)) }
	case reflect.TypeFor[andon.JSON]():
		return writing(appendCompact)
	case reflect.TypeFor[andon.Metrics]():
		return writing(appendMetrics)
	}
	itself := reflect.PointerTo(t)
	if itself.Implements(reflect.TypeFor[json.Marshaler]()) ||
		itself.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return func(b []byte, at unsafe.Pointer) []byte { return appendText(b, *(*string)(at)) }
	case reflect.Bool:
		return writing(strconv.AppendBool)
	case reflect.Int:
		return writing(appendWhole[int])
	case reflect.Uint8:
		return writing(appendWhole[uint8])
	case reflect.Float64:
		return writing(appendNumber)
	case reflect.Pointer, reflect.Slice:
		return writerOfMany((&shape{}).writerOf(t.Elem()), t)
	case reflect.Struct:
		return s.writerOfStruct(t)
	}
	return nil
}

// writerOfMany writes a pointer or a slice, each of which begins with where its first element is.
func writerOfMany(write writer, t reflect.Type) writer {
	size, many := t.Elem().Size(), t.Kind() == reflect.Slice
	if write == nil {
		return nil
	}
	return func(b []byte, at unsafe.Pointer) []byte {
		first := *(*unsafe.Pointer)(at)
		switch {
		case first == nil:
			return append(b, "null"...)
		case !many:
			return write(b, first)
		}
		b = append(b, '[')
		for i := range uintptr(len(*(*[]struct{})(at))) { // whatever it is a slice of
			if i > 0 {
				b = append(b, ',')
			}
			b = write(b, unsafe.Add(first, i*size))
		}
		return append(b, ']')
	}
}

// member is a field of a struct, or of one that is embedded there.
type member struct {
	offset   uintptr
	name     string       // with its quotes, comma and colon
	optional reflect.Kind // it is left out where it is empty; Invalid: it never is
	write    writer
}

func (s *shape) writerOfStruct(t reflect.Type) writer {
	var members []member
	for _, f := range reflect.VisibleFields(t) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		m := member{name: `,"` + name + `":`, write: (&shape{}).writerOf(f.Type)}
		for i := range f.Index {
			m.offset += t.FieldByIndex(f.Index[:i+1]).Offset
		}
		if option != "" {
			m.optional = f.Type.Kind()
		}
		if m.write == nil {
			return nil
		}
		if f.Type == reflect.TypeFor[andon.JSON]() {
			s.objects = append(s.objects, m.offset)
		}
		members = append(members, m)
	}
	return func(b []byte, at unsafe.Pointer) []byte {
		b = append(b, '{')
		skipped := 1 // the comma of the first one
		for i := range members {
			m := &members[i]
			if value := unsafe.Add(at, m.offset); !isEmpty(value, m.optional) {
				b = m.write(append(b, m.name[skipped:]...), value)
				skipped = 0
			}
		}
		return append(b, '}')
	}
}

func isEmpty(at unsafe.Pointer, kind reflect.Kind) bool {
	switch kind {
	case reflect.String:
		return *(*string)(at) == ""
	case reflect.Int64, reflect.Float64:
		return *(*int64)(at) == 0
	case reflect.Int:
		return *(*int)(at) == 0
	case reflect.Bool, reflect.Uint8:
		return *(*uint8)(at) == 0
	case reflect.Pointer:
		return *(*unsafe.Pointer)(at) == nil
	case reflect.Slice:
		return len(*(*[]struct{})(at)) == 0
	}
	return false
}

func appendMetrics(b []byte, all andon.Metrics) []byte {
	b = append(b, '{')
	for i, x := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), escapedName(x.Name)...), `":`...)
		b = appendValue(b, x.Value)
	}
	return append(b, '}')
}

// appendValue writes a number as strconv does, with the fewest digits that are read as the same
// number. Nearly all are of few digits: a number of six before the point and three behind it is the
// only one of less than 16 digits that is read so.
func appendValue(b []byte, x float64) []byte {
	const parts, most = 1000, 1e6 // from which on strconv writes an exponent
	size := math.Abs(x)
	n := uint64(size*parts + 0.5)
	if !(size >= 1./parts && size < most) || float64(n)/parts != size {
		return strconv.AppendFloat(b, x, 'g', -1, 64)
	}
	if x < 0 {
		b = append(b, '-')
	}
	b = strconv.AppendUint(b, n/parts, 10)
	if n %= parts; n == 0 {
		return b
	}
	b = append(b, '.', byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// escapedName is the name of a metric without its quotes, escaped as andon.Metrics does: for HTML,
// too.
func escapedName(name andon.MetricName) string {
	html := func(r rune) bool { return isEscaped(r) || r == '<' || r == '>' || r == '&' }
	if !strings.ContainsFunc(string(name), html) {
		return string(name)
	}
	text, err := json.Marshal(string(name))
	if err != nil {
		return "" // a string can be written
	}
	return string(text[1 : len(text)-1])
}

func appendTime(b []byte, t andon.Time) []byte {
	if t == 0 {
		return append(b, "null"...)
	}
	b, _ = t.AppendText(append(b, '"')) // it can't fail
	return append(b, '"')
}

// appendNumber writes a number as ECMAScript does.
func appendNumber(b []byte, x float64) []byte {
	if size := math.Abs(x); size != 0 && (size < 1e-6 || size >= 1e21) {
		if text, err := json.Marshal(x); err == nil {
			return append(b, text...)
		}
	}
	return strconv.AppendFloat(b, x, 'f', -1, 64)
}

// appendText writes a string. What must be escaped is rare, and left to encoding/json.
func appendText(b []byte, text string) []byte {
	if !standsForItself(text) && strings.ContainsFunc(text, isEscaped) {
		return appendEscaped(b, text)
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// standsForItself reports whether text is of characters that stand for themselves, as most are.
func standsForItself(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isEscaped reports whether a character may have to be escaped. RuneError may stand for bytes that
// are not UTF-8.
func isEscaped(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' ||
		r == utf8.RuneError
}

func appendEscaped(b []byte, text string) []byte {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return append(b, `""`...) // a string can be written
	}
	return append(b, strings.TrimSuffix(out.String(), "\n")...)
}

// mayHaveSpace is false for most objects, which were written without spaces.
func mayHaveSpace(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' {
			return true
		}
	}
	return false
}

// appendCompact writes valid JSON without the spaces between its tokens.
func appendCompact(b []byte, text string) []byte {
	if !mayHaveSpace(text) {
		return append(b, text...)
	}
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		case quoted && c == '\\':
			b = append(b, c)
			i++
		case c == '"':
			quoted = !quoted
		}
		b = append(b, text[i])
	}
	return b
}
