package workbench

import (
	"encoding/json"
	"strings"

	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// object is an object of JSON: its members in their order, with their values as text. What is not
// known here stays as it is.
type object []member

type member struct{ name, value string }

// objectOf takes an object apart that is known to be JSON.
func objectOf(text string) (o object) {
	for name, value := range jsonscan.Members(text) {
		o.add(name, value)
	}
	return o
}

func (o *object) add(name, value string) { *o = append(*o, member{name, value}) }

// get returns the value of a member; "" where there is none.
func (o object) get(name string) string {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return ""
}

// set replaces the value of a member, which comes last where there was none.
func (o *object) set(name, value string) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	o.add(name, value)
}

// String is the text of the object.
func (o object) String() string {
	members := make([]string, len(o))
	for i, m := range o {
		members[i] = encode(m.name) + ":" + m.value
	}
	return "{" + strings.Join(members, ",") + "}"
}

// elements returns those of an array that is known to be JSON.
func elements(text string) (all []string) {
	var array []json.RawMessage
	_ = json.Unmarshal([]byte(text), &array)
	for _, element := range array {
		all = append(all, string(element))
	}
	return all
}

func array(elements []string) string { return "[" + strings.Join(elements, ",") + "]" }
