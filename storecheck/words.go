package storecheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// words are those of a statement that are still to be read. The methods of a turn end the statement
// by require where a word is missing or is not written as it must be.
type words struct{ left []string }

func (w *words) next(what string) string {
	demand(len(w.left) > 0, "%s is missing", what)
	word := w.left[0]
	w.left = w.left[1:]
	return word
}

// end demands that no words are left.
func (w *words) end() {
	demand(len(w.left) == 0, "%q is too much", strings.Join(w.left, " "))
}

func (w *words) device() andon.DeviceID { return andon.DeviceID(w.next("a device")) }
func (w *words) person() andon.PersonID { return person(w.next("a person")) }

func (t turn) time() andon.Time { return t.timeAt(t.next("a time")) }

// entry reads an entry, which is written STATE@TIME; a dash is none.
func (t turn) entry() andon.EntryRef {
	word := t.next("an entry")
	if word == "-" {
		return andon.EntryRef{}
	}
	state, at, ok := strings.Cut(word, "@")
	demand(ok, "entry %q is not of the form STATE@TIME", word)
	return andon.EntryRef{Time: t.timeAt(at), State: andon.State(state)}
}

// until takes the words before the next one that is end, and takes that away.
func (t turn) until(end string) turn {
	part, rest := t.left, []string(nil)
	if i := slices.Index(t.left, end); i >= 0 {
		part, rest = t.left[:i], t.left[i+1:]
	}
	t.left = rest
	t.words = &words{part}
	return t
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

// demand ends a statement that is not written as it must be.
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

// timeAt returns the time that a scenario writes as a distance from Base; 0 where it is absent, or
// a dash.
func (e *Env) timeAt(word string) andon.Time {
	if word == "" || word == "-" {
		return 0
	}
	digits, before := strings.CutPrefix(word, "-")
	d := must(andon.ParseDuration(digits))
	if before {
		d = -d
	}
	return e.Base.Add(d)
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

// kindOf reads the kind of an error with dashes for its spaces.
func kindOf(word string) andon.Kind {
	for k := andon.Internal; k <= andon.Damaged; k++ {
		if strings.ReplaceAll(k.String(), " ", "-") == word {
			return k
		}
	}
	demand(false, "%q is no kind of error", word)
	return 0
}
