package jsonfeed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// extras keep what the contract has no field for: the members next to the known fields
// join the object of one field, attributes or metadata. All text is kept as it was sent.
type extras struct {
	field   string   // the name of that field
	quoted  bool     // its object may be in a string, as databases without objects have it
	own     string   // the text of its object; empty where it is absent
	members []member // next to the known fields
	size    int      // of all that, in bytes
}

type member struct {
	name   string
	text   string // name and value
	at     int
	inside bool // it is in the field's own object
}

// object reads the field's own object; null is absent.
func (x *extras) object(s *jsonscan.Scanner) *jsonscan.Fault {
	switch {
	case x.quoted && s.Peek() == '"':
		return x.string(s)
	case s.Peek() != '{':
		if s.Word("null") {
			return nil
		}
		return s.WantField(x.field, "an object")
	}
	at := s.At
	if f := s.Skip(0); f != nil {
		return inField(x.field, f)
	}
	x.own = s.Text[at:s.At]
	return x.grow(at, len(x.own))
}

// string reads the string that has the text of the object; an empty one is absent.
func (x *extras) string(s *jsonscan.Scanner) *jsonscan.Fault {
	at := s.At
	text, f := s.String()
	if f != nil {
		return inField(x.field, f)
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if f = jsonscan.Object(text); f != nil {
		reason := x.field + ": want an object, or a string that holds one: " + f.Reason
		return &jsonscan.Fault{At: at, Field: x.field, Reason: reason}
	}
	x.own = text
	return x.grow(at, len(x.own))
}

// unknown reads the value of a field that is not known.
func (x *extras) unknown(s *jsonscan.Scanner, name string) *jsonscan.Fault {
	at := s.NameAt
	if f := s.Skip(1); f != nil {
		return f
	}
	x.members = append(x.members, member{name: name, text: s.Text[at:s.At], at: at})
	return x.grow(at, s.At-at)
}

// grow stops an entry that has more than can be kept, before much memory is spent on its members.
func (x *extras) grow(at, n int) *jsonscan.Fault {
	if x.size += n; x.size <= andon.MaxJSONBytes {
		return nil
	}
	reason := fmt.Sprintf("%s are longer than %d bytes", x.field, andon.MaxJSONBytes)
	return &jsonscan.Fault{At: at, Field: x.field, Reason: reason}
}

func (x *extras) join() (andon.JSON, *jsonscan.Fault) {
	if len(x.members) == 0 {
		return andon.JSON(x.own), nil
	}
	if f := x.clash(); f != nil {
		return "", f
	}
	texts := make([]string, 0, 8)
	own := strings.TrimSuffix(strings.TrimPrefix(x.own, "{"), "}")
	if strings.TrimSpace(own) != "" {
		texts = append(texts, own)
	}
	for _, m := range x.members {
		texts = append(texts, m.text)
	}
	return andon.JSON("{" + strings.Join(texts, ",") + "}"), nil
}

// clash finds a name that occurs twice. It sorts, so the time is not quadratic in the fields.
func (x *extras) clash() *jsonscan.Fault {
	if len(x.members) == 1 && x.own == "" {
		return nil
	}
	all := append(x.inside(), x.members...)
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		switch {
		case a.name != b.name || b.inside:
		case a.inside:
			f := twice(b.at, x.field, b.name)
			f.Reason += ": next to and inside " + x.field
			return f
		default:
			return twice(b.at, "", b.name)
		}
	}
	return nil
}

// inside lists the members of the field's own object, which has been read before.
func (x *extras) inside() (all []member) {
	for name := range jsonscan.Members(x.own) {
		all = append(all, member{name: name, inside: true})
	}
	return all
}

// others are names that a field often has elsewhere.
func others() map[string][]string {
	return map[string][]string{
		"device": {"deviceid", "devicename", "id", "name"}, "state": {"status"},
	}
}

// suggest adds to the reason why a field is missing that another one may be meant: its name in
// another case, or as it is often called.
func (x *extras) suggest(f *jsonscan.Fault) *jsonscan.Fault {
	if f == nil || !strings.HasSuffix(f.Reason, " is missing") {
		return f
	}
	for _, m := range x.members {
		plain := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(m.name))
		if plain == f.Field || slices.Contains(others()[f.Field], plain) {
			f.Reason += fmt.Sprintf("; there is a field %s, is it that?", ingest.Clip(m.name))
			return f
		}
	}
	return f
}
