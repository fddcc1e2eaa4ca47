package app

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/source"
)

// writer makes what keeps the messages of a source, once the store is open. mappingFile is "" for
// messages that are Andon's own JSON.
func (a *App) writer(
	name string, tenant andon.TenantID, mappingFile string,
) (*source.Writer, error) {
	if able := a.store.Capabilities(); !able.Whole {
		return nil, andon.Errorf(andon.Invalid, "the store %s keeps no records, so it can't keep "+
			"what source %s refuses: choose another store, or remove the source", able.Name, name)
	}
	var of *mapping.Mapping
	if mappingFile != "" {
		var err error
		if of, err = mapping.Read(mappingFile); err != nil {
			return nil, err
		}
	}
	return source.New(source.Options{
		Name: name, Tenant: tenant, Mapping: of, Intake: a.intake, Log: a.Log, Now: a.Now,
		Refused: a.rejections, Metrics: a.sources,
	}), nil
}
