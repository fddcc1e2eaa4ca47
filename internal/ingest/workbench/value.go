package workbench

import (
	"encoding/base64"
	"strings"

	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// A value of DynamoDB names its type: {"S": "text"}. In the attributes of an event it is plain
// JSON, as people write and read it:
//
//	{"S": "a"}             "a"
//	{"N": "1.50"}          1.50
//	{"BOOL": true}         true
//	{"NULL": true}         null
//	{"M": {"a": {…}}}      {"a": …}
//	{"L": [{…}]}           […]
//	{"SS": ["a"]}          {"SS": ["a"]}, and so NS, BS and B
//	{"N": "007"}           {"N": "007"}, because JSON has no such number
//
// What has no plain form keeps its type. A map that would look like such a value keeps it too, so
// nothing is lost in either direction.
const (
	kindText   = "S"
	kindNumber = "N"
	kindBytes  = "B"
	kindBool   = "BOOL"
	kindNull   = "NULL"
	kindMap    = "M"
	kindList   = "L"
	kindTexts  = "SS"
	kindNums   = "NS"
	kindBlobs  = "BS"
)

// maxDepth is how deep maps and lists are nested that are written. DynamoDB takes 32, but each is
// two levels of JSON here, and what is read has at most andon.MaxJSONDepth.
const maxDepth = 31

// split takes a value apart. ok is false where it is not one type with its content.
func split(value string) (kind, content string, ok bool) {
	n := 0
	for kind, content = range jsonscan.Members(value) {
		n++
	}
	return kind, content, n == 1
}

// wrong says what is wrong with an attribute of an item.
type wrong struct{ attribute, reason string }

// Error implements error.
func (w *wrong) Error() string {
	if w.attribute == "" {
		return w.reason
	}
	return "attribute " + ingest.Clip(w.attribute) + ": " + w.reason
}

// appendPlain appends a value of DynamoDB as plain JSON. path is its place, from the name of
// the attribute on.
func appendPlain(b []byte, value, path string) ([]byte, error) {
	kind, content, ok := split(value)
	if !ok {
		return b, &wrong{path, `want a value with its type, such as {"S": "text"}, found ` +
			ingest.Clip(value)}
	}
	switch kind {
	case kindMap:
		return appendMap(b, value, content, path)
	case kindList:
		return appendList(b, content, path)
	}
	if why := mismatch(kind, content); why != "" {
		return b, &wrong{path, why + ", found " + ingest.Clip(content)}
	}
	switch {
	case kind == kindNull:
		return append(b, "null"...), nil
	case kind == kindNumber && isJSONNumber(unquoted(content)):
		return append(b, unquoted(content)...), nil
	case kind == kindText, kind == kindBool:
		return append(b, content...), nil
	}
	return append(b, value...), nil
}

// mismatch says what the content of a type must be, if it is something else. Maps and lists are
// checked one by one.
func mismatch(kind, content string) string {
	switch kind {
	case kindText:
		return unless(content[0] == '"', "S is a string")
	case kindNumber:
		return unless(isDecimal(content), `N is a number within a string, such as "1.5"`)
	case kindBytes:
		return unless(isBase64(content), "B is base64 within a string")
	case kindBool:
		return unless(content == "true" || content == "false", "BOOL is true or false")
	case kindNull:
		return unless(content == "true", "NULL is true")
	case kindTexts:
		return unless(isSet(content, func(s string) bool { return s[0] == '"' }),
			"SS is an array of strings, one at least")
	case kindNums:
		return unless(isSet(content, isDecimal), "NS is an array of numbers within strings")
	case kindBlobs:
		return unless(isSet(content, isBase64), "BS is an array of base64 within strings")
	}
	return "want one of the types S, N, B, BOOL, NULL, M, L, SS, NS and BS for " +
		ingest.Clip(kind)
}

func unless(ok bool, text string) string {
	if ok {
		return ""
	}
	return text
}

// isSet reports whether content is an array with elements that are all good.
func isSet(content string, good func(string) bool) bool {
	some := false
	for element := range jsonscan.Elements(content) {
		if !good(element) {
			return false
		}
		some = true
	}
	return some
}

// unquoted returns the text of a string of JSON; "" where it is none.
func unquoted(content string) string {
	s := jsonscan.Scanner{Text: content}
	if s.Next() != '"' {
		return ""
	}
	text, _ := s.String()
	return text
}

func isJSONNumber(text string) bool {
	s := jsonscan.Scanner{Text: text}
	_, f := s.Number()
	return f == nil && s.At == len(text)
}

// isDecimal reports whether content is a number of DynamoDB within a string.
func isDecimal(content string) bool {
	text := unquoted(content)
	_, err := ingest.ParseMetric(text)
	return err == nil && significant(text) <= 38
}

// significant counts the digits of a number without those zeros that only give its size.
func significant(text string) int {
	text, _, _ = strings.Cut(strings.ToLower(text), "e")
	text = strings.Trim(strings.Replace(text, ".", "", 1), "+-")
	return len(strings.Trim(text, "0"))
}

func isBase64(content string) bool {
	_, err := base64.StdEncoding.DecodeString(unquoted(content))
	return err == nil && content[0] == '"'
}

// appendMap appends the members of a map. Where the plain map would be taken for a value with its
// type, the type stays.
func appendMap(b []byte, value, content, path string) (_ []byte, err error) {
	if content[0] != '{' {
		return b, &wrong{path, "M is an object, found " + ingest.Clip(content)}
	}
	from := len(b)
	b = append(b, '{')
	for name, member := range jsonscan.Members(content) {
		b = append(appendName(b, name), ':')
		if b, err = appendPlain(b, member, path+"."+name); err != nil {
			return b, err
		}
	}
	if b = append(b, '}'); keepsType(string(b[from:])) {
		b = append(b[:from], value...)
	}
	return b, nil
}

func appendList(b []byte, content, path string) (_ []byte, err error) {
	if content[0] != '[' {
		return b, &wrong{path, "L is an array, found " + ingest.Clip(content)}
	}
	b = append(b, '[')
	for element := range jsonscan.Elements(content) {
		if b, err = appendPlain(comma(b), element, path); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// comma appends a comma unless a member or an element is the first.
func comma(b []byte) []byte {
	if last := b[len(b)-1]; last != '{' && last != '[' {
		b = append(b, ',')
	}
	return b
}

func appendName(b []byte, name string) []byte { return appendText(comma(b), name) }

// keepsType reports whether plain JSON is a value that kept its type.
func keepsType(plain string) bool {
	if plain[0] != '{' {
		return false
	}
	kind, content, ok := split(plain)
	if !ok {
		return false
	}
	switch kind {
	case kindTexts, kindNums, kindBlobs, kindBytes:
		return mismatch(kind, content) == ""
	case kindNumber:
		return mismatch(kind, content) == "" && !isJSONNumber(unquoted(content))
	case kindMap:
		within, err := appendMap(nil, plain, content, "")
		return err == nil && string(within) == plain
	}
	return false
}

// appendTyped appends plain JSON as a value of DynamoDB. ok is false where DynamoDB can't hold it:
// nesting, numbers of more digits, names that are empty.
func appendTyped(b []byte, plain string, depth int) (_ []byte, kind string, ok bool) {
	switch plain[0] {
	case '"':
		return wrap(b, kindText, plain), kindText, true
	case 't', 'f':
		return wrap(b, kindBool, plain), kindBool, true
	case 'n':
		return wrap(b, kindNull, "true"), kindNull, true
	case '{':
		if keepsType(plain) {
			kind, _, _ := split(plain)
			return append(b, plain...), kind, true
		}
		b, ok = typedMap(append(b, `{"M":{`...), plain, depth+1)
		return append(b, "}}"...), kindMap, ok
	case '[':
		b, ok = typedList(append(b, `{"L":[`...), plain, depth+1)
		return append(b, "]}"...), kindList, ok
	}
	number := `"` + plain + `"`
	return wrap(b, kindNumber, number), kindNumber, isDecimal(number)
}

func wrap(b []byte, kind, content string) []byte {
	b = append(append(b, `{"`...), kind...)
	return append(append(append(b, `":`...), content...), '}')
}

func typedMap(b []byte, plain string, depth int) (_ []byte, ok bool) {
	ok = depth <= maxDepth
	for name, member := range jsonscan.Members(plain) {
		if !ok || name == "" {
			return b, false
		}
		b, _, ok = appendTyped(append(appendName(b, name), ':'), member, depth)
	}
	return b, ok
}

func typedList(b []byte, plain string, depth int) (_ []byte, ok bool) {
	ok = depth <= maxDepth
	for element := range jsonscan.Elements(plain) {
		if !ok {
			return b, false
		}
		b, _, ok = appendTyped(comma(b), element, depth)
	}
	return b, ok
}
