package httpapi

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/source"
)

// rejectionsRoute lists what sources refused. It belongs to no tenant: it may be the tenant that is
// wrong.
func (a *API) rejectionsRoute() *route {
	return listing(route{
		pattern: "GET /rejections", name: "listRejections", tenantless: true,
		fixedOrder: "rejections are listed newest first", errors: []int{501},
		query: []param{
			{Name: "source", Example: "line-3"}, fromParam, toParam, limitParam, cursorParam,
		},
	}, a.rejections)
}

func (a *API) rejections(c *call) (page[andon.SourceRejection], error) {
	span, limit, after := c.Span(), c.Limit(), ""
	c.cursor(&after)
	list := source.Rejections{Store: a.store}
	found := seq.List(func() ([]source.Rejection, error) {
		return list.List(c.ctx(), c.Text("source"), span, after, limit+1)
	})
	return readPage(c, limit, found,
		plain(func(r *source.Rejection) andon.SourceRejection { return r.SourceRejection }),
		func(r *source.Rejection) any { return r.Key })
}
