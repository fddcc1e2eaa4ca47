package archive

import (
	"embed"
	"io"
	"path"
	"strings"
	"text/template"
)

//go:embed ddl
var ddl embed.FS

// Dialects are whose statements DDL writes.
var Dialects = []string{"athena", "duckdb"}

// DDL writes the statements that make the archive tables of an engine.
func (c *Config) DDL(w io.Writer, dialect string) error {
	t, err := template.ParseFS(ddl, path.Join("ddl", dialect+".sql"))
	if err != nil {
		return err
	}
	host := strings.TrimPrefix(strings.TrimPrefix(c.Endpoint, "https://"), "http://")
	return t.Execute(w, map[string]any{
		"To":      strings.ReplaceAll(strings.TrimRight(c.To, "/"), "'", "''"),
		"S3":      strings.HasPrefix(c.To, "s3://"),
		"Tenants": strings.Join(c.Tenants, ","), "Host": host, "Region": c.Region,
		"TLS": strings.HasPrefix(c.Endpoint, "https://"),
	})
}
