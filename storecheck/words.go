package storecheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// words are those of a statement that are still to be read. Its methods end the reading by require
// where a word is missing or is not written as it must be.
type words struct {
	left  []string
	batch *batch // that the statement begins
}

func (w *words) next(what string) string {
	demand(len(w.left) > 0, "%s is missing", what)
	word := w.left[0]
	w.left = w.left[1:]
	return word
}

func (w *words) device() andon.DeviceID { return andon.DeviceID(w.next("a device")) }
func (w *words) person() andon.PersonID { return person(w.next("a person")) }
func (w *words) time() *offset          { return must(parseOffset(w.next("a time"))) }
func (w *words) entry() entryRef        { return must(parseEntryRef(w.next("an entry"))) }

// end is an error where words are left.
func (w *words) end() error {
	if len(w.left) > 0 {
		return fmt.Errorf("%q is too much", strings.Join(w.left, " "))
	}
	return nil
}

// until takes the words before the next one that is end, and takes that away.
func (w *words) until(end string) *words {
	part, rest := w.left, []string(nil)
	if i := slices.Index(w.left, end); i >= 0 {
		part, rest = w.left[:i], w.left[i+1:]
	}
	w.left = rest
	return &words{left: part}
}

// fields reads all that is left as name=value, of the names that are known.
func (w *words) fields(known ...string) fields {
	f := fields{}
	for _, word := range w.left {
		name, value, ok := strings.Cut(word, "=")
		demand(ok && slices.Contains(known, name), "%q is none of %s", word,
			strings.Join(known, "=, ")+"=")
		f[name] = value
	}
	w.left = nil
	return f
}

// fields are values by their names; "" is one that is absent.
type fields map[string]string

func (f fields) person(name string) andon.PersonID { return andon.PersonID(f[name]) }
func (f fields) json(name string) andon.JSON       { return andon.JSON(f[name]) }

// are reports which of the fields another value has.
func (f fields) are(got fields) error {
	for name, want := range f {
		if got[name] != want {
			return fmt.Errorf("%s is %s", name, got[name])
		}
	}
	return nil
}

// time returns nil where there is none.
func (f fields) time(name string) *offset {
	if f[name] == "" {
		return nil
	}
	return must(parseOffset(f[name]))
}

// demand ends the reading of a statement that is not written as it must be.
func demand(right bool, format string, args ...any) {
	if !right {
		require(fmt.Errorf(format, args...))
	}
}

func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quoted, begun bool
	for _, c := range line {
		switch {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == '#' && !begun:
			return words, nil
		case (c == ' ' || c == '\t') && !quoted:
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quoted {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// offset is a time of a scenario: a distance from Env.Base. nil is no time.
type offset andon.Duration

func parseOffset(word string) (*offset, error) {
	digits, before := strings.CutPrefix(word, "-")
	d, err := andon.ParseDuration(digits)
	if before {
		d = -d
	}
	return new(offset(d)), err
}

func (o *offset) time(e *Env) andon.Time {
	if o == nil {
		return 0
	}
	return e.Base.Add(andon.Duration(*o))
}

// OffsetOf returns a time as a scenario writes it; a dash where it is absent.
func (e *Env) OffsetOf(t andon.Time) string {
	switch {
	case t == 0:
		return "-"
	case t < e.Base:
		return "-" + e.Base.Sub(t).String()
	}
	return t.Sub(e.Base).String()
}

// entryRef is an entry as a scenario writes it: STATE@TIME.
type entryRef struct {
	state andon.State
	time  *offset
}

func parseEntryRef(word string) (entryRef, error) {
	state, at, ok := strings.Cut(word, "@")
	if !ok {
		return entryRef{}, fmt.Errorf("entry %q is not of the form STATE@TIME", word)
	}
	t, err := parseOffset(at)
	return entryRef{andon.State(state), t}, err
}

// person returns the person that a word names; a dash means no one.
func person(word string) andon.PersonID {
	if word == "-" {
		return ""
	}
	return andon.PersonID(word)
}

// orDash is the opposite of person.
func orDash[T ~string](id T) string {
	if id == "" {
		return "-"
	}
	return string(id)
}

// parseKind reads the kind of an error with dashes for its spaces.
func parseKind(word string) (andon.Kind, error) {
	for k := andon.Internal; k <= andon.Damaged; k++ {
		if strings.ReplaceAll(k.String(), " ", "-") == word {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q is no kind of error", word)
}
