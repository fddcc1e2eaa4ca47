package draw

import (
	"unicode/utf8"
)

// Key is one that was pressed: a letter, or what a terminal sends for the others.
type Key string

// The keys that are no letters.
const (
	KeyInterrupt Key = "\x03" // Ctrl-C
	KeyEnter     Key = "\r"
	KeyDelete    Key = "\x7f"
	KeyEscape    Key = "\x1b"
	KeyUp        Key = "\x1b[A"
	KeyDown      Key = "\x1b[B"
	KeyPageUp    Key = "\x1b[5~"
	KeyPageDown  Key = "\x1b[6~"
	KeyHome      Key = "\x1b[H"
	KeyEnd       Key = "\x1b[F"
)

// KeysOf splits what a terminal sent. A sequence that means nothing here is one key.
func KeysOf(text string) (keys []Key) {
	for text != "" {
		n := 1
		switch {
		case len(text) > 2 && text[0] == KeyEscape[0] && (text[1] == '[' || text[1] == 'O'):
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
func plainKey(sent string) Key {
	switch sent {
	case "\x1bOA", "\x1b[A":
		return KeyUp
	case "\x1bOB", "\x1b[B":
		return KeyDown
	case "\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~":
		return KeyHome
	case "\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~":
		return KeyEnd
	case "\n":
		return KeyEnter
	case "\b":
		return KeyDelete
	}
	return Key(sent)
}
