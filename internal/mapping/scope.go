package mapping

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
	"github.com/andonhq/andon/internal/ingest/table"
)

// scope is what templates refer to while a part of a message is mapped.
type scope struct {
	*Message
	part  part
	once  map[string]string // what was found in the message by path, since each part asks again
	again int               // bytes that parts have of what all parts have
	state andon.State       // as it is called here
}

// part is a part of a message, as JSON, with the names or indices by which it was reached.
type part struct {
	json string
	keys []string
}

// A template is text with references in braces, or one path. A reference is a path from the part
// ($.a.b) or from the message ($$.a.b), or what came with the message.
var (
	bracesPattern    = regexp.MustCompile(`\{[^{}]*\}`)
	referencePattern = regexp.MustCompile(
		`^(\$\$?(\.[^{}\[\].*]+|\[\d+\])*|topic(:[1-9]\d?)?|key|header:.+|each:[1-9]\d?)$`)
)

func checkTemplate(text string) error {
	all := bracesPattern.FindAllString(text, -1)
	if strings.HasPrefix(text, "$") {
		all = []string{"{" + text + "}"}
	}
	if rest := bracesPattern.ReplaceAllString(text, ""); strings.ContainsAny(rest, "{}") {
		return fmt.Errorf("a brace is not closed, or not opened")
	}
	for _, one := range all {
		if !referencePattern.MatchString(one[1 : len(one)-1]) {
			return fmt.Errorf("%s is none of {$.path}, {$$.path}, {topic}, {topic:1}, {key}, "+
				"{header:name}, {each:1}", one)
		}
	}
	return nil
}

// stateColumn is the state as it is called here.
const stateColumn = "{state}"

// find returns the JSON of a template: of a path its value, else a text. It is absent where a
// reference is missing or null.
func (s *scope) find(template string) (string, bool) {
	if template == stateColumn {
		return jsonscan.Quote(string(s.state)), s.state != ""
	}
	if strings.HasPrefix(template, "$") {
		value := s.value(template)
		return value, value != "" && value != "null"
	}
	there := template != ""
	text := bracesPattern.ReplaceAllStringFunc(template, func(one string) string {
		value := s.value(one[1 : len(one)-1])
		there = there && value != "" && value != "null"
		return jsonscan.Text(value)
	})
	return jsonscan.Quote(text), there
}

// value returns the JSON of a reference, "" where it is missing.
func (s *scope) value(reference string) string {
	if path, ok := strings.CutPrefix(reference, "$$"); ok {
		value, known := s.once[path]
		if !known {
			value = follow(string(s.Value), path)
			s.once[path] = value
		}
		s.again += len(value)
		return value
	}
	if path, ok := strings.CutPrefix(reference, "$"); ok {
		return follow(s.part.json, path)
	}
	text := s.Topic
	switch name, which, _ := strings.Cut(reference, ":"); {
	case name == "key":
		text = s.Key
	case name == "header":
		text = s.Headers[which]
	case name == "each":
		text = nth(s.part.keys, which)
	case which != "" && strings.Contains(s.Topic, "/"): // as MQTT has it
		text = nth(strings.Split(s.Topic, "/"), which)
	case which != "":
		text = nth(strings.Split(s.Topic, "."), which)
	}
	if text == "" {
		return ""
	}
	s.again += len(text)
	return jsonscan.Quote(text)
}

func nth(parts []string, which string) string {
	if n, _ := strconv.Atoi(which); n <= len(parts) {
		return parts[n-1]
	}
	return ""
}

// follow returns the value that a path (.a.b[0]) leads to.
func follow(value, path string) string {
	for path != "" {
		step, rest := path, ""
		if i := strings.IndexByte(path[1:], '[') + 1; i > 0 {
			step, rest = path[:i], path[i:]
		}
		if step[0] == '.' {
			value, _ = table.Find(value, step[1:])
		} else { // names may follow the index
			index, names, _ := strings.Cut(step[1:], "]")
			n, elements := 0, value
			value, rest = "", names+rest
			for element := range jsonscan.Elements(elements) {
				if strconv.Itoa(n) == index {
					value = element
				}
				n++
			}
		}
		path = rest
	}
	return value
}

// parts returns the parts of a message to which a path leads; .* at its end is each member of an
// object. An array stands for its elements.
func parts(message, path string) (all []part, err error) {
	if fault := jsonscan.Whole(message); fault != nil {
		return nil, fault
	}
	whole := strings.Trim(message, " \t\r\n")
	if path == "" {
		return []part{{json: whole}}, nil
	}
	path, members := strings.CutSuffix(path, ".*")
	reached := []part{{json: follow(whole, path[1:])}}
	if members {
		reached = reached[0].children()
	}
	for _, p := range reached {
		if strings.HasPrefix(p.json, "[") {
			all = append(all, p.children()...)
		} else if p.json != "" {
			all = append(all, p)
		}
	}
	if len(all) > andon.MaxRequestEntries {
		err = fmt.Errorf("more than %d entries", andon.MaxRequestEntries)
	}
	return all, err
}

// children returns the members of an object or the elements of an array.
func (p part) children() (all []part) {
	add := func(key, value string) {
		all = append(all, part{value, append(p.keys[:len(p.keys):len(p.keys)], key)})
	}
	for name, value := range jsonscan.Members(p.json) {
		add(name, value)
	}
	for value := range jsonscan.Elements(p.json) {
		add(strconv.Itoa(len(all)), value)
	}
	return all
}
