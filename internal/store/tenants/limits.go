package tenants

import "github.com/andonhq/andon"

// Limits are how long a database keeps what it has. It deletes by what was written with each row,
// so a tenant may keep that for a shorter time, and not for a longer one.
type Limits struct {
	Keeps            string // "this keyspace keeps"
	Events, Readings Limit
}

// Limit is that of events or of readings.
type Limit struct {
	Most  andon.Retention
	Raise string // what keeps more: "dynamodb.retention"
}

// Clamp shortens the retentions of a tenant. To keep for ever is to keep as long as the database
// does.
func (l Limits) Clamp(t *andon.Tenant) {
	l.Events.clamp(&t.Events)
	l.Readings.clamp(&t.Readings)
}

func (l Limit) clamp(r *andon.Retention) {
	if l.Most != andon.Forever && (*r == andon.Forever || *r > l.Most) {
		*r = l.Most
	}
}

// Admit refuses a tenant that is to keep more than the database does, and clamps it. A new one
// keeps no more either.
func (l Limits) Admit(t *andon.Tenant) error {
	asked := *t
	if l.Clamp(t); t.Version == 0 {
		return nil
	}
	if err := l.exceeded("events", l.Events, asked.Events, t.Events); err != nil {
		return err
	}
	return l.exceeded("readings", l.Readings, asked.Readings, t.Readings)
}

func (l Limits) exceeded(what string, of Limit, asks, has andon.Retention) error {
	if asks <= has {
		return nil
	}
	return andon.AtField("body.retention."+what, "%s %s for %s, and a tenant can't keep them for "+
		"%s: raise %s, for what is written from then on", l.Keeps, what, has, asks, of.Raise)
}
