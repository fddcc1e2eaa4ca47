package cli

import (
	"unicode"
	"unicode/utf8"
)

// key is one that was pressed: a letter, or what a terminal sends for the others.
type key string

const (
	keyInterrupt key = "\x03" // Ctrl-C
	keyEnter     key = "\r"
	keyDelete    key = "\x7f"
	keyEscape    key = "\x1b"
	keyUp        key = "\x1b[A"
	keyDown      key = "\x1b[B"
	keyPageUp    key = "\x1b[5~"
	keyPageDown  key = "\x1b[6~"
	keyHome      key = "\x1b[H"
	keyEnd       key = "\x1b[F"
)

// keysOf splits what a terminal sent. A sequence that means nothing here is one key.
func keysOf(text string) (keys []key) {
	for text != "" {
		n := 1
		switch {
		case len(text) > 2 && text[0] == keyEscape[0] && (text[1] == '[' || text[1] == 'O'):
			for n = 2; n < len(text)-1 && (text[n] < '@' || text[n] > '~'); n++ {
			}
			n++
		case text[0] >= utf8.RuneSelf:
			_, n = utf8.DecodeRuneInString(text)
		}
		keys = append(keys, plainKey(text[:n]))
		text = text[n:]
	}
	return keys
}

// plainKey is one name for what terminals send for the same key.
func plainKey(sent string) key {
	switch sent {
	case "\x1bOA", "\x1b[A":
		return keyUp
	case "\x1bOB", "\x1b[B":
		return keyDown
	case "\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~":
		return keyHome
	case "\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~":
		return keyEnd
	case "\n":
		return keyEnter
	case "\b":
		return keyDelete
	}
	return key(sent)
}

// mostFiltered is how many devices are looked through for a filter, the worst first.
const mostFiltered = 10_000

// wanted is how many devices have to be known to show so many.
func (b *board) wanted(rows int) int {
	if b.filter != "" {
		return mostFiltered
	}
	return b.offset + rows
}

// press does what a key means, on a screen of so many lines.
func (b *board) press(k key, rows int) {
	if b.typing {
		b.write(k)
		return
	}
	switch k {
	case "/":
		b.typing = true
	case keyEscape:
		b.filter, b.hungry = "", true
	case keyUp, "k":
		b.scroll(-1)
	case keyDown, "j":
		b.scroll(1)
	case keyPageUp:
		b.scroll(-max(rows/2, 1))
	case keyPageDown, " ":
		b.scroll(max(rows/2, 1))
	case keyHome, "g":
		b.scroll(-b.offset)
	case keyEnd, "G":
		b.scroll(b.length())
	}
	b.hungry = b.hungry || b.wanted(rows) > len(b.devices) && len(b.devices) < b.length()
}

// write changes the filter.
func (b *board) write(k key) {
	before := b.filter
	switch r, _ := utf8.DecodeRuneInString(string(k)); {
	case k == keyEnter:
		b.typing = false
	case k == keyEscape:
		b.filter, b.typing = "", false
	case k == keyDelete:
		_, last := utf8.DecodeLastRuneInString(b.filter)
		b.filter = b.filter[:len(b.filter)-last]
	case unicode.IsPrint(r) && r != utf8.RuneError:
		b.filter += string(k)
	}
	if b.filter != before {
		b.offset, b.hungry = 0, true
	}
}

func (b *board) scroll(by int) { b.offset = max(0, min(b.offset+by, b.length()-1)) }

// length is how many devices there are to scroll through.
func (b *board) length() int { return b.below(len(b.selected())) }
