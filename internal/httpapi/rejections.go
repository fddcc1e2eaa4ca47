package httpapi

import (
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/source"
)

// rejectionsRoute lists what sources refused. It belongs to no tenant: it may be the tenant that is
// wrong.
func (a *API) rejectionsRoute() *route {
	return listing[andon.SourceRejection](route{
		pattern: "GET /rejections", name: "listRejections", tenantless: true,
		fixedOrder: "rejections are listed newest first", errors: []int{501},
		query: []param{
			{Name: "source", Example: "line-3"}, fromParam, toParam, limitParam, cursorParam,
		},
	}, a.rejections)
}

func (a *API) rejections(c *call) error {
	span, list := c.Span(), source.Rejections{Store: a.store}
	read := func(after string, n int) iter.Seq2[source.Rejection, error] {
		return seq.List(func() ([]source.Rejection, error) {
			return list.List(c.ctx(), c.Text("source"), span, after, n)
		})
	}
	show := func(r *source.Rejection) andon.SourceRejection { return r.SourceRejection }
	position := func(r *source.Rejection) string { return r.Key }
	return sendPage(c, oneStep, nil, read, plain(show), position)
}
