package httpapi

import (
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/body"
	"github.com/andonhq/andon/internal/httpapi/mount"
	"github.com/andonhq/andon/internal/intake"
)

// mounted returns routes of another package as those of this one.
func mounted(routes []mount.Route) (all []*route) {
	for _, m := range routes {
		all = append(all, &route{
			pattern: m.Pattern, name: m.Name, query: m.Query, body: m.Body, answer: m.Answer,
			errors: m.Errors, fixedOrder: m.FixedOrder,
			serve: func(c *call) error {
				return m.Serve(&mount.Call{
					Reader: &c.Reader, Context: c.ctx(), Tenant: c.tenant, Server: server{c},
				})
			},
		})
	}
	return all
}

// server is a call as a mount.Server.
type server struct{ c *call }

func (s server) Record() (andon.Tenant, error)      { return s.c.record() }
func (s server) Cursor(position any) bool           { return s.c.cursor(position) }
func (s server) Answer(value any) error             { return s.c.answer(value) }
func (s server) Account(result intake.Result) error { return s.c.account(result) }

func (s server) Body(media ...string) (text, is string, err error) {
	is, err = body.MediaType(s.c.r.Header.Get("Content-Type"), media...)
	if err == nil {
		text, err = s.c.body()
	}
	return text, is, err
}

func (s server) Page(
	limit int, items iter.Seq2[any, error], position func(item any) any,
) error {
	p, err := readPage(s.c, limit, items, same, func(item *any) any { return position(*item) })
	if err == nil {
		s.c.sendBuffer(p.Buffer)
	}
	return err
}
