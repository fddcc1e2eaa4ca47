// Package strictjson reads a body that is one JSON object into a struct, and refuses what
// encoding/json would pass over.
//
// encoding/json alone would take a field by another case, the last of two, and an absent one for
// null. Here a field is known by its exact name, is there once, and must be there unless its tag
// has omitempty or omitzero; then null is as good as absent. Values are of the types that
// encoding/json knows; structs, pointers to them and slices of them are read as strictly.
//
// The package knows no request and no field. Its errors are Invalid, and name the field at fault.
package strictjson

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
	"github.com/andonhq/andon/internal/spell"
)

// Decode reads text into a struct, to which into points.
func Decode(text string, into any) error {
	s := &jsonscan.Scanner{Text: text}
	if s.Next(); s.At == len(text) {
		return andon.AtField("body", "the body is empty")
	}
	if s.Word("null") {
		return andon.AtField("body", "the body is null: want an object")
	}
	if err := decodeValue(s, "body", reflect.ValueOf(into).Elem()); err != nil {
		return err
	}
	return located("body", s.End())
}

func located(location string, f *jsonscan.Fault) error {
	if f == nil {
		return nil
	}
	return andon.AtField(location, "%s", f)
}

func decodeValue(s *jsonscan.Scanner, location string, v reflect.Value) error {
	t := v.Type()
	switch {
	case v.Kind() == reflect.Struct:
		return decodeStruct(s, location, v)
	case s.Peek() == 'n' && v.Kind() == reflect.Pointer && s.Word("null"):
		return nil
	case v.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		v.Set(reflect.New(t.Elem()))
		return decodeStruct(s, location, v.Elem())
	case v.Kind() == reflect.Slice:
		return decodeSlice(s, location, v)
	}
	start := s.At
	if f := s.Skip(1); f != nil {
		return located(location, f)
	}
	return decodeScalar(s.Text[start:s.At], location, v)
}

func decodeScalar(text, location string, v reflect.Value) error {
	if text == "null" { // encoding/json would leave v as it is
		return andon.AtField(location, "%s is null", location)
	}
	err := json.Unmarshal([]byte(text), v.Addr().Interface())
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if number, isNumber := strings.CutPrefix(e.Value, "number "); isNumber { // out of its range
			most := ""
			if v.Kind() == reflect.Uint8 {
				most = ": want a whole number from 0 to 255"
			}
			return andon.AtField(location, "%s can't be %s%s", location, number, most)
		}
		return andon.AtField(location, "%s can't be of type %s", location, e.Value)
	}
	if err != nil {
		return andon.AtField(location, "%s: %s", location, err)
	}
	return nil
}

func decodeSlice(s *jsonscan.Scanner, location string, v reflect.Value) error {
	if s.Peek() != '[' {
		return located(location, s.Want("an array"))
	}
	s.At++
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	texts := isText(v.Type().Elem())
	for first := true; ; first = false {
		more, f := s.Element(first)
		if f != nil || !more {
			return located(location, f)
		}
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		if texts && s.Peek() == '"' { // as encoding/json would, but lists of devices are long
			text, f := s.String()
			if f != nil {
				return located(elementOf(location, n), f)
			}
			v.Index(n).SetString(strings.Clone(text))
			continue
		}
		if err := decodeValue(s, elementOf(location, n), v.Index(n)); err != nil {
			return err
		}
	}
}

func elementOf(location string, n int) string { return location + "[" + strconv.Itoa(n) + "]" }

// isText reports whether values of a type are strings that do not decode themselves.
func isText(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Kind() == reflect.String && !p.Implements(reflect.TypeFor[json.Unmarshaler]()) &&
		!p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func decodeStruct(s *jsonscan.Scanner, location string, v reflect.Value) error {
	if s.Peek() != '{' {
		return located(location, s.Want("an object"))
	}
	s.At++
	fields := jsonFields(v.Type())
	seen := make([]bool, len(fields))
	for first := true; ; first = false {
		name, more, f := s.Member(first)
		if f != nil {
			return located(location, f)
		}
		if !more {
			return missing(location, fields, seen)
		}
		i, err := fieldNamed(location, name, fields, seen)
		if err != nil {
			return err
		}
		if fields[i].optional && s.Word("null") {
			continue
		}
		if err := decodeValue(s, location+"."+name, v.Field(i)); err != nil {
			return err
		}
	}
}

// jsonField is a field of a struct as JSON has it; its index is that of the field in the struct.
type jsonField struct {
	name     string
	optional bool
}

func jsonFields(t reflect.Type) []jsonField {
	fields := make([]jsonField, t.NumField())
	for i := range fields {
		name, rest, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[i] = jsonField{name: name, optional: rest == "omitempty" || rest == "omitzero"}
	}
	return fields
}

func fieldNamed(location, name string, fields []jsonField, seen []bool) (int, error) {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.name
		if field.name != name {
			continue
		}
		if seen[i] {
			return 0, andon.AtField(location+"."+name, "%s occurs twice", name)
		}
		seen[i] = true
		return i, nil
	}
	return 0, NoField(location, name, names)
}

// NoField is the error that an object has a field by a name that it can't have, only by others.
func NoField(location, name string, only []string) error {
	shown := ingest.Clip(name)
	message := fmt.Sprintf("there is no field %s here, only %s", shown, strings.Join(only, ", "))
	if near := spell.Nearest(name, only); near != "" {
		message = fmt.Sprintf("there is no field %s here: did you mean %s?", shown, near)
	}
	return andon.AtField(location+"."+name[:min(len(name), 64)], "%s", message)
}

func missing(location string, fields []jsonField, seen []bool) error {
	for i, field := range fields {
		if !seen[i] && !field.optional {
			return andon.AtField(location+"."+field.name, "%s is missing", field.name)
		}
	}
	return nil
}
