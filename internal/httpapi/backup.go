package httpapi

import (
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"log/slog"
	"net/http"
)

func (a *API) backupRoute() *route {
	return &route{
		method: http.MethodPost, path: "/backup", name: "backup", tag: "operations",
		summary: "A backup of the whole store, all tenants, as it is at one moment",
		detail: "A tar: the store's files, and after them their sums, so a backup that was " +
			"broken off is known. All that was acknowledged before the request is in it. " +
			"`andon restore` makes a store of it. One is taken at a time.",
		tenantless: true, long: true, readOnly: true,
		statuses: []int{http.StatusOK}, errors: []int{409, 501, 507},
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
		slog.Int64("bytes", c.x.bytes), slog.String("who", c.life.caller.who),
		slog.String("remote", c.r.RemoteAddr), slog.String("request_id", c.x.id))
	return err
}
