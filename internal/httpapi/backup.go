package httpapi

import (
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"log/slog"
)

func (a *API) backupRoute() *route {
	return &route{
		pattern: "POST /backup", name: "backup", tenantless: true, long: true, readOnly: true,
		errors: []int{409, 501, 507},
		answer: &content{Media: tarForm, Schema: openapi.Text()},
		serve:  a.backup,
	}
}

const tarForm = "application/x-tar"

func (a *API) backup(c *call) error {
	c.release()
	c.x.Header().Set("Content-Type", tarForm)
	err := a.options.Backup(c.ctx(), c.x)
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	a.options.Log.LogAttrs(c.ctx(), slog.LevelInfo, "backup", slog.String("outcome", outcome),
		slog.Int64("bytes", c.x.Bytes), slog.String("who", c.who),
		slog.String("remote", c.r.RemoteAddr), slog.String("request_id", c.x.ID))
	return err
}
