package jsonout

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// writer writes the members of objects. Methods named IfAny leave out what encoding/json leaves out
// with omitempty.
type writer struct {
	text    []byte
	damaged bool // what should be JSON is not
}

func (w *writer) write(text string) { w.text = append(w.text, text...) }

func (w *writer) begin() { w.write("{") }

// name begins a member. Names are given with their quotes and colon.
func (w *writer) name(name string) {
	if w.text[len(w.text)-1] != '{' {
		w.text = append(w.text, ',')
	}
	w.text = append(w.text, name...)
}

// string writes a member that is a string. What must be escaped is rare.
func (w *writer) string(name, value string) {
	if !isPlain(value) {
		w.member(name, value)
		return
	}
	w.name(name)
	w.text = append(append(append(w.text, '"'), value...), '"')
}

// isPlain reports whether each character of a string is written as it is. utf8.RuneError may be in
// place of bytes that are not UTF-8.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf {
			return !strings.ContainsFunc(text, func(r rune) bool {
				return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' ||
					r == utf8.RuneError
			})
		} else if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// isPlainName is isPlain of a name of ASCII that has none of the characters which mean something in
// HTML.
func isPlainName(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c >= utf8.RuneSelf:
			return false
		case c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

func (w *writer) stringIfAny(name, value string) {
	if value != "" {
		w.string(name, value)
	}
}

func (w *writer) time(name string, t andon.Time) {
	w.name(name)
	if t == 0 {
		w.write("null")
		return
	}
	w.text, _ = t.AppendText(append(w.text, '"')) // it can't fail
	w.write(`"`)
}

func (w *writer) timeIfAny(name string, t andon.Time) {
	if t != 0 {
		w.time(name, t)
	}
}

func (w *writer) integer(name string, n int) {
	w.name(name)
	w.text = strconv.AppendInt(w.text, int64(n), 10)
}

// number writes a number as ECMAScript does.
func (w *writer) number(name string, x float64) {
	w.name(name)
	if size := math.Abs(x); size == 0 || size >= 1e-6 && size < 1e21 {
		w.text = strconv.AppendFloat(w.text, x, 'f', -1, 64)
	} else {
		w.marshal(x)
	}
}

// member writes a member that is rare.
func (w *writer) member(name string, value any) {
	w.name(name)
	text, err := encode(w.text, value)
	w.text, w.damaged = text, w.damaged || err != nil
}

// marshal writes what is rare as encoding/json does.
func (w *writer) marshal(value any) {
	text, err := json.Marshal(value)
	w.text = append(w.text, text...)
	w.damaged = w.damaged || err != nil
}

// metrics writes names and values as andon.Metrics does, which also escapes for HTML.
func (w *writer) metrics(name string, all andon.Metrics) {
	w.name(name)
	w.begin()
	for i := range all {
		w.name("")
		if name := string(all[i].Name); isPlainName(name) {
			w.text = append(append(append(w.text, '"'), name...), `":`...)
		} else {
			w.marshal(name)
			w.write(":")
		}
		w.text = strconv.AppendFloat(w.text, all[i].Value, 'g', -1, 64)
	}
	w.write("}")
}

// objectIfAny writes a JSON object without the spaces between its tokens.
func (w *writer) objectIfAny(name string, object andon.JSON) {
	if object == "" {
		return
	}
	w.name(name)
	switch {
	case jsonscan.Whole(string(object)) != nil:
		w.damaged = true
	case !strings.ContainsAny(string(object), " \t\r\n"):
		w.write(string(object))
	default:
		compact := bytes.NewBuffer(w.text)
		_ = json.Compact(compact, []byte(object)) // it is valid
		w.text = compact.Bytes()
	}
}
