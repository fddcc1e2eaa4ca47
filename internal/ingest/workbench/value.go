package workbench

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/andonhq/andon/internal/ingest"
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

// value is a value of DynamoDB as encoding/json decodes it, with numbers as json.Number.
type value = map[string]any

// decode decodes a text that is known to be JSON.
func decode(text string) (v any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&v)
	return v
}

// encode is the inverse of decode.
func encode(v any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // what was decoded can always be written
	return strings.TrimSuffix(text.String(), "\n")
}

// split takes a value apart. ok is false where it is not one type with its content.
func split(v any) (kind string, content any, ok bool) {
	one, _ := v.(value)
	for kind, content = range one {
		break
	}
	return kind, content, len(one) == 1
}

type wrong struct{ attribute, reason string }

// Error implements error.
func (w *wrong) Error() string {
	if w.attribute == "" {
		return w.reason
	}
	return "attribute " + ingest.Clip(w.attribute) + ": " + w.reason
}

// plain returns a value of DynamoDB as plain JSON. path is its place, from the name of the
// attribute on.
func plain(v any, path string) (_ any, err error) {
	kind, content, ok := split(v)
	if !ok {
		return nil, &wrong{path, `want a value with its type, such as {"S": "text"}, found ` +
			ingest.Clip(encode(v))}
	}
	if why := mismatch(kind, content); why != "" {
		return nil, &wrong{path, why + ", found " + ingest.Clip(encode(content))}
	}
	switch kind {
	case kindMap:
		members, typed := map[string]any{}, content.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(typed)) { // the first error is always the same
			if members[name], err = plain(typed[name], path+"."+name); err != nil {
				return nil, err
			}
		}
		if keepsType(members) {
			return v, nil
		}
		return members, nil
	case kindList:
		list := slices.Clone(content.([]any))
		for i := range list {
			if list[i], err = plain(list[i], path); err != nil {
				return nil, err
			}
		}
		return list, nil
	case kindText, kindBool:
		return content, nil
	case kindNull:
		return nil, nil
	case kindNumber:
		if text := content.(string); json.Valid([]byte(text)) {
			return json.Number(text), nil
		}
	}
	return v, nil
}

// kinds says what the content of each type is. What is in maps and lists is checked one by one.
var kinds = map[string]struct {
	is   func(content any) bool
	want string
}{
	kindText:   {isA[string], "S is a string"},
	kindNumber: {isDecimal, `N is a number within a string, such as "1.5"`},
	kindBytes:  {isBase64, "B is base64 within a string"},
	kindBool:   {isA[bool], "BOOL is true or false"},
	kindNull:   {func(content any) bool { return content == true }, "NULL is true"},
	kindMap:    {isA[map[string]any], "M is an object"},
	kindList:   {isA[[]any], "L is an array"},
	kindTexts:  {isSet(isA[string]), "SS is an array of strings, one at least"},
	kindNums:   {isSet(isDecimal), "NS is an array of numbers within strings"},
	kindBlobs:  {isSet(isBase64), "BS is an array of base64 within strings"},
}

// mismatch says what the content of a type must be, if it is something else.
func mismatch(kind string, content any) string {
	of, known := kinds[kind]
	switch {
	case !known:
		return "want one of the types S, N, B, BOOL, NULL, M, L, SS, NS and BS for " +
			ingest.Clip(kind)
	case of.is(content):
		return ""
	}
	return of.want
}

func isA[T any](content any) bool {
	_, ok := content.(T)
	return ok
}

func isSet(is func(any) bool) func(any) bool {
	return func(content any) bool {
		all, _ := content.([]any)
		return len(all) > 0 && !slices.ContainsFunc(all, func(v any) bool { return !is(v) })
	}
}

// isDecimal reports whether content is a number of DynamoDB within a string: of 38 digits at most,
// without those zeros that only give its size.
func isDecimal(content any) bool {
	text, _ := content.(string)
	if _, err := ingest.ParseMetric(text); err != nil {
		return false
	}
	digits, _, _ := strings.Cut(strings.ToLower(text), "e")
	digits = strings.Trim(strings.Replace(digits, ".", "", 1), "+-")
	return len(strings.Trim(digits, "0")) <= 38
}

func isBase64(content any) bool {
	text, ok := content.(string)
	_, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil
}

// keepsType reports whether plain JSON is a value that kept its type.
func keepsType(v any) bool {
	kind, content, ok := split(v)
	if !ok || mismatch(kind, content) != "" {
		return false
	}
	switch kind {
	case kindTexts, kindNums, kindBlobs, kindBytes:
		return true
	case kindNumber:
		return !json.Valid([]byte(content.(string)))
	case kindMap:
		same, err := plain(v, "")
		return err == nil && reflect.DeepEqual(same, v)
	}
	return false
}

// typed returns plain JSON as a value of DynamoDB. ok is false where DynamoDB can't hold it:
// nesting, numbers of more digits, names that are empty.
func typed(v any, depth int) (_ value, kind string, ok bool) {
	switch v := v.(type) {
	case string:
		return value{kindText: v}, kindText, true
	case bool:
		return value{kindBool: v}, kindBool, true
	case json.Number:
		return value{kindNumber: v.String()}, kindNumber, isDecimal(v.String())
	case []any:
		list := make([]any, len(v))
		ok = depth < maxDepth
		for i := 0; i < len(v) && ok; i++ {
			list[i], _, ok = typed(v[i], depth+1)
		}
		return value{kindList: list}, kindList, ok
	case map[string]any:
		if keepsType(v) {
			kind, _, _ := split(v)
			return v, kind, true
		}
		members := map[string]any{}
		ok = depth < maxDepth
		for name, member := range v {
			if !ok || name == "" {
				return nil, "", false
			}
			members[name], _, ok = typed(member, depth+1)
		}
		return value{kindMap: members}, kindMap, ok
	}
	return value{kindNull: true}, kindNull, true
}
