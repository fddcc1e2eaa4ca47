package live

import (
	"unicode"
	"unicode/utf8"

	"github.com/andonhq/andon/internal/cli/draw"
)

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
func (b *board) press(k draw.Key, rows int) {
	if b.typing {
		b.write(k)
		return
	}
	switch k {
	case "/":
		b.typing = true
	case draw.KeyEscape:
		b.filter, b.hungry = "", true
	case draw.KeyUp, "k":
		b.scroll(-1)
	case draw.KeyDown, "j":
		b.scroll(1)
	case draw.KeyPageUp:
		b.scroll(-max(rows/2, 1))
	case draw.KeyPageDown, " ":
		b.scroll(max(rows/2, 1))
	case draw.KeyHome, "g":
		b.scroll(-b.offset)
	case draw.KeyEnd, "G":
		b.scroll(b.length())
	}
	b.hungry = b.hungry || b.wanted(rows) > len(b.devices) && len(b.devices) < b.length()
}

// write changes the filter.
func (b *board) write(k draw.Key) {
	before := b.filter
	switch r, _ := utf8.DecodeRuneInString(string(k)); {
	case k == draw.KeyEnter:
		b.typing = false
	case k == draw.KeyEscape:
		b.filter, b.typing = "", false
	case k == draw.KeyDelete:
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
