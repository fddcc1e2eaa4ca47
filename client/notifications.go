package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// Notification is an attempt to tell a person something, or a message that waits for its first.
type Notification struct {
	ID      string         `json:"id" doc:"of the message, which its attempts share"`
	To      andon.PersonID `json:"to"`
	Channel string         `json:"channel"`
	At      andon.Time     `json:"at"`
	Status  string         `json:"status" doc:"held, waiting, delivered, failed, given-up, listed"`
	Answer  string         `json:"answer,omitempty" doc:"what the other side said"`
	NextAt  andon.Time     `json:"next_at,omitempty" doc:"when it is tried again"`
	Subject string         `json:"subject"`
}

// Notifications returns the attempts of messages, those of the newest message first, to one person
// or all, with one status or all.
func (c *Client) Notifications(
	ctx context.Context, to andon.PersonID, status string, page int,
) iter.Seq2[Notification, error] {
	return list[Notification](ctx, c, struct {
		To     andon.PersonID `query:"to"`
		Status string         `query:"status"`
		Page   int            `query:"limit"`
	}{to, status, page}, "notifications")
}

// TestContacts sends a message to each contact of a person, and returns what became of each.
func (c *Client) TestContacts(ctx context.Context, to andon.PersonID) ([]Notification, error) {
	p, err := submit[page[Notification]](ctx, c, http.MethodPost, nil, "people", string(to), "test")
	return p.Items, err
}

// Contact is where a person is told: a channel of the settings, and the address there.
type Contact struct {
	Channel string `json:"channel"`
	Address string `json:"address,omitempty"`
}

// AddContact adds a contact to those of a person, once.
func (c *Client) AddContact(ctx context.Context, to andon.PersonID, contact Contact) error {
	_, err := submit[struct{}](ctx, c, http.MethodPost, contact, "people", string(to), "contacts")
	return err
}
