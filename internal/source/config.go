package source

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
)

// Config is what every source is set up with, whatever it reads from.
type Config struct {
	Name    string
	Tenant  string
	Mapping string // file; "" for Andon's own JSON
}

// Settings sets the defaults, and returns what sets the rest.
func (c *Config) Settings() []config.Setting {
	*c = Config{Tenant: string(andon.DefaultTenant)}
	return []config.Setting{
		{Key: "name", Value: config.Text(&c.Name),
			Help: "what metrics, the log and rejections call the source"},
		{Key: "tenant", Value: config.Given(&c.Tenant),
			Help: "tenant of the entries whose mapping names none"},
		{Key: "mapping", Value: config.Text(&c.Mapping),
			Help: "file that says how a message becomes entries; else it is Andon's own JSON"},
	}
}

// Check reports what is wrong with the settings. The name may be in the ids of records, whose
// length is bounded.
func (c *Config) Check(k *config.Check) {
	const longest = 64
	if c.Name == "" {
		k.Wrong("name", "is missing")
	} else if err := andon.TenantID(c.Name).Validate(); err != nil || len(c.Name) > longest {
		k.Wrong("name", "is longer than %d bytes or has control characters", longest)
	}
	if err := andon.TenantID(c.Tenant).Validate(); err != nil {
		k.Wrong("tenant", "is none: %v", err)
	}
}
