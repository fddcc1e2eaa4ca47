package cli

import (
	"fmt"
	"strconv"

	"github.com/mattn/go-runewidth"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// clock shows a time to the second, for a person.
func clock(t andon.Time) string { return t.Std().Format("2006-01-02 15:04:05") }

// age shows a length of time by its two greatest units.
func age(d andon.Duration) string {
	const minute, hour, day = andon.Duration(60e6), andon.Duration(3600e6), andon.Duration(86400e6)
	switch {
	case d >= day:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/hour)
	case d >= hour:
		return fmt.Sprintf("%dh%02dm", d/hour, d%hour/minute)
	case d >= minute:
		return fmt.Sprintf("%dm%02ds", d/minute, d%minute/1e6)
	}
	return fmt.Sprintf("%ds", d/1e6)
}

// grouped shows a number with its thousands apart: 1,234,567.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// columnsOf returns how many columns of a terminal a text takes: of characters of East Asia two
// each, of marks that join others none.
func columnsOf(text string) int {
	return (&runewidth.Condition{}).StringWidth(text)
}

// clip cuts a text to so many columns.
func clip(text string, columns int) string {
	if columnsOf(text) <= columns {
		return text
	}
	if columns <= 0 {
		return ""
	}
	return (&runewidth.Condition{}).Truncate(text, columns, "…")
}

// summary says in a few words what a device shows, by its name.
func summary(d *client.Device, now andon.Time) string {
	return legible(string(d.Device)) + " " + shows(d, now)
}

// shows is summary without the name.
func shows(d *client.Device, now andon.Time) string {
	text := fmt.Sprintf("%s for %s", legible(string(d.State)), age(now.Sub(d.Since)))
	if d.Operator != "" {
		text += ", " + legible(string(d.Operator))
	}
	if d.EscalatedTo != "" {
		text += ", escalated to " + legible(string(d.EscalatedTo))
	}
	return text
}
