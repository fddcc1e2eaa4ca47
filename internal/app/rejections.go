package app

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/source"
)

// writer makes what keeps the messages of a source, once the store is open.
func (a *App) writer(c source.Config) (*source.Writer, error) {
	if able := a.store.Capabilities(); !able.Whole {
		return nil, andon.Errorf(andon.Invalid, "the store %s keeps no records, so it can't keep "+
			"what source %s refuses: choose another store, or remove the source", able.Name, c.Name)
	}
	var of *mapping.Mapping
	if c.Mapping != "" {
		var err error
		if of, err = mapping.Read(c.Mapping); err != nil {
			return nil, err
		}
	}
	return source.New(source.Options{
		Name: c.Name, Tenant: andon.TenantID(c.Tenant), Mapping: of, Intake: a.intake,
		Refused: a.rejections, Metrics: a.sources, Log: a.Log, Now: a.Now,
	}), nil
}
