package httpapi

import (
	"iter"
	"strings"

	"github.com/andonhq/andon"
)

const (
	// searchPart is how many devices a store is asked for at once: by another order than the id it
	// reads all of them each time.
	searchPart = 10_000
	// searchMost is how many devices one request reads. Where more are left, its page ends.
	searchMost = 20_000
)

// search returns those of the devices that a query selects in which a text occurs. No store has an
// index for it, so each device is read. The limit of the query is one of what is found.
func (a *API) search(
	c *call, q andon.DeviceQuery, exactly andon.DeviceID, text string,
) iter.Seq2[andon.Device, error] {
	text = strings.ToLower(text)
	return func(yield func(andon.Device, error) bool) {
		q.Limit = searchPart
		for looked := 0; ; {
			part, found := 0, c.devicesOf(q)
			if exactly != "" {
				found = a.oneDevice(c, exactly, q)
			}
			for d, err := range found {
				if err == nil {
					part, q.After = part+1, new(d.Position())
				}
				if (err != nil || occurs(text, &d)) && !yield(d, err) {
					return
				}
			}
			if part < searchPart {
				return
			}
			if looked += part; looked >= searchMost {
				c.stopped = *q.After
				return
			}
		}
	}
}

// occurs reports whether a text, in lower case, is in what a person would look for a device by.
func occurs(text string, d *andon.Device) bool {
	for _, of := range []string{
		string(d.ID), d.Message, string(d.Operator), string(d.EscalatedTo),
	} {
		if strings.Contains(strings.ToLower(of), text) {
			return true
		}
	}
	return false
}
