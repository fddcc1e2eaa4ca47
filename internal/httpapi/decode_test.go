package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/sent"
	"github.com/andonhq/andon/internal/strictjson"
)

// FuzzDecode reads bodies like encoding/json: what is taken is what encoding/json reads, and what
// encoding/json reads is taken unless it is wrong in one of the ways that it is strict about.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"to":"Sara"}`, `{"to":null,"by":"Liz","note":"x","state":"A"}`, `{"to":"a","to":"b"}`,
		`{"To":"a"}`, `{}`, ``, `null`, `[]`, `{"to":"\ud800"}`, `{"to":"\ud83d\ude00"}`,
		`{"to":"\u0074","t\u006f":1}`, `{"t\u006f":"x"}`, "{\"to\":\"\xff\"}", `{"to":"a"} x`,
		`{"to":"a",}`, `{"to":"x","time":"2020-04-24T10:00:00Z"}`, `{"to":"x","time":null}`,
		`{"devices":["a","b"]}`, `{"devices":null}`, `{"devices":[null]}`, `{"devices":[1]}`,
		`{"retention":{"events":"30d","readings":"forever"},"max_future":"10m"}`,
		`{"retention":{"events":null}}`, `{"states":[{"name":"A","severity":0,"letter":"A"}]}`,
		`{"states":[{"name":"A","severity":256}]}`, `{"states":[{"name":"A","severity":1e1}]}`,
		`{"silent_after":1}`, " \t\r\n{\"operator\" : \"x\"}\n", "\ufeff{}", `{"operator":""}`,
		`{"to":` + strings.Repeat("[", 100), `{"states":[]}`, `{"tenant":"t","states":[{}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		likeEncodingJSON[escalationBody](t, text)
		likeEncodingJSON[operatorBody](t, text)
		likeEncodingJSON[latestBody](t, text)
		likeEncodingJSON[sent.TenantBody](t, text)
	})
}

func likeEncodingJSON[B any](t *testing.T, text string) {
	var got, want B
	err := strictjson.Decode(text, &got)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	wantErr := decoder.Decode(&want)
	if wantErr == nil && decoder.More() {
		return // encoding/json reads one value after the other
	}
	switch {
	case err == nil && wantErr != nil:
		t.Errorf("%T %q is taken, encoding/json says %v", got, text, wantErr)
	case err == nil && !reflect.DeepEqual(got, want):
		t.Errorf("%q is %+v, to encoding/json %+v", text, got, want)
	case err != nil && andon.KindOf(err) != andon.Invalid:
		t.Errorf("%T %q: %v", got, text, err)
	case err != nil && wantErr == nil && isPlain(text, reflect.TypeFor[B]()):
		t.Errorf("%T %q is refused, %v, encoding/json takes it", got, text, err)
	}
}

// isPlain reports whether a body that encoding/json takes has nothing that strictjson refuses:
// names of another case or twice, fields that are missing, null, text that is not Unicode, deep
// nesting.
func isPlain(text string, of reflect.Type) bool {
	if !utf8.ValidString(text) || strings.Contains(text, `\u`) || strings.Contains(text, "null") ||
		strings.Count(text, "[")+strings.Count(text, "{") > andon.MaxJSONDepth {
		return false
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return false
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, []byte(text))
	again, _ := json.Marshal(value)
	if strings.Count(compact.String(), ":") != strings.Count(string(again), ":") {
		return false // a name is there twice
	}
	return hasFields(value, of)
}

// hasFields reports whether a value has the fields of a type by their exact names, and all that it
// must have.
func hasFields(value any, of reflect.Type) bool {
	switch {
	case of.Kind() == reflect.Pointer:
		return hasFields(value, of.Elem())
	case of.Kind() == reflect.Slice:
		all, ok := value.([]any)
		for _, v := range all {
			ok = ok && hasFields(v, of.Elem())
		}
		return ok
	case of.Kind() != reflect.Struct || reflect.PointerTo(of).Implements(unmarshaler):
		return true
	}
	fields, ok := value.(map[string]any)
	known := 0
	for i := range of.NumField() {
		name, rest, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		inner, there := fields[name]
		if there {
			known++
			ok = ok && hasFields(inner, of.Field(i).Type)
		}
		ok = ok && (there || rest == "omitempty")
	}
	return ok && known == len(fields)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()
