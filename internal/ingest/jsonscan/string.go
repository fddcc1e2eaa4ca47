package jsonscan

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String reads a string; the scanner is at its opening quote. It returns a part of Text unless
// something in it is escaped.
func (s *Scanner) String() (string, *Fault) {
	start := s.At + 1
	i := plainEnd(s.Text, start)
	if i < len(s.Text) && s.Text[i] == '"' {
		s.At = i + 1
		return s.Text[start:i], nil
	}
	return s.unusual(start, i)
}

// Quote returns a text as a string of JSON.
func Quote(text string) string {
	quoted, _ := json.Marshal(text) // a text can always be written
	return string(quoted)
}

// Text returns the text of a string of JSON, and any other value as it is there. The value is known
// to be JSON.
func Text(value string) string {
	s := Scanner{Text: value}
	if s.Peek() != '"' {
		return value
	}
	text, _ := s.String()
	return text
}

// plain are the bytes of a string without special meaning: ASCII without quote, backslash and
// control characters.
var plain = func() (set [256]bool) {
	for c := ' '; c <= '\x7f'; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// plainEnd returns where the plain bytes end that begin at i. Eight bytes at a time are not faster:
// most strings here are shorter than twenty.
func plainEnd(text string, i int) int {
	for i < len(text) && plain[text[i]] {
		i++
	}
	return i
}

// unusual reads on at i in a string that is more than plain bytes.
func (s *Scanner) unusual(start, i int) (string, *Fault) {
	escaped := false
	for i < len(s.Text) {
		switch c := s.Text[i]; {
		case c == '"':
			s.At = i + 1
			return s.content(start, i, escaped)
		case c == '\\':
			n := escapeLen(s.Text[i:])
			if n == 0 {
				return "", s.Fault(i, "an escape that JSON does not have")
			}
			i, escaped = i+n, true
		case c < ' ':
			return "", s.Fault(i, "the control character %#02x in a string must be escaped", c)
		default:
			i = plainEnd(s.Text, i+1)
		}
	}
	return "", s.Fault(start-1, "a string that is not closed")
}

// escapeLen returns how long the escape is that text begins with, 0 if it is none.
func escapeLen(text string) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, text[1]) < 0 {
			return 0
		}
		return 2
	}
	if len(text) < 6 {
		return 0
	}
	for _, c := range []byte(text[2:6]) {
		if !isDigit(c) && c|0x20-'a' > 5 {
			return 0
		}
	}
	return 6
}

func (s *Scanner) content(start, end int, escaped bool) (string, *Fault) {
	raw := s.Text[start:end]
	if s.Tolerant {
		return raw, nil
	}
	if !utf8.ValidString(raw) {
		return "", s.Fault(start+validPrefix(raw), "a byte that is not valid UTF-8")
	}
	if !escaped {
		return raw, nil
	}
	text, lone := unescape(raw)
	if lone >= 0 {
		return "", s.Fault(start+lone, "an escape that is half of a surrogate pair")
	}
	return text, nil
}

// validPrefix returns the place of the first byte that is not valid UTF-8.
func validPrefix(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return len(text)
}

// unescape returns raw with its escapes, all well-formed, replaced. lone is the place
// of half of a surrogate pair, -1 if there is none.
func unescape(raw string) (text string, lone int) {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw, -1
	}
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		n := strings.IndexByte(raw[i:], '\\')
		if n < 0 {
			b = append(b, raw[i:]...)
			break
		}
		b, i = append(b, raw[i:i+n]...), i+n
		r, size := escapedRune(raw[i:])
		if utf16.IsSurrogate(r) {
			return "", i
		}
		b, i = utf8.AppendRune(b, r), i+size
	}
	return string(b), -1
}

// escapedRune reads the escape that text begins with, or two that make a surrogate pair.
func escapedRune(text string) (r rune, size int) {
	if text[1] != 'u' {
		const names, values = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		return rune(values[strings.IndexByte(names, text[1])]), 2
	}
	r = hexRune(text[2:6])
	if utf16.IsSurrogate(r) && strings.HasPrefix(text[6:], `\u`) {
		if pair := utf16.DecodeRune(r, hexRune(text[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}

func hexRune(digits string) rune {
	n, _ := strconv.ParseUint(digits, 16, 16) // well-formed: escapeLen has looked at them
	return rune(n)
}
