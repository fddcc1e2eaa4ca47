package dynamostore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
)

func TestSerialTemplates(t *testing.T) {
	for _, format := range (*Engine)(nil).Formats() {
		for _, mode := range (*Engine)(nil).Capacities() {
			t.Run(format+" "+mode, func(t *testing.T) {
				e := &Engine{Options: defaults()}
				indexed(items.ProjectsMetrics)(&e.Options)
				e.Capacity = provision.Capacity{
					Read:  provision.Units{Min: 11, Max: 1100},
					Write: provision.Units{Min: 12, Max: 1200},
				}
				text, err := e.Template(format, mode)
				if err != nil {
					t.Fatal(err)
				}
				checkTemplate(t, format, text)
				if got := strings.Contains(text, "1200"); got != (mode == provision.Provisioned) {
					t.Errorf("it has the most of what is provisioned: %t", got)
				}
				for _, table := range e.ownTables() {
					for _, i := range table.Indexes {
						if !strings.Contains(text, i.Name) {
							t.Errorf("it lacks the index %s", i.Name)
						}
					}
				}
			})
		}
	}
	if _, err := (&Engine{}).Template("pulumi", ""); andon.KindOf(err) != andon.Invalid {
		t.Errorf("an unknown format: %v", err)
	}
}

// checkTemplate has a tool of the format's own look at a template.
func checkTemplate(t *testing.T, format, text string) {
	t.Helper()
	if format == "cloudformation" {
		path := filepath.Join(t.TempDir(), "template.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := enginetest.CheckTemplate(t, path); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		return
	}
	file, problems := hclsyntax.ParseConfig([]byte(text), "andon.tf", hcl.InitialPos)
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems, text)
	}
	kinds := map[string]int{}
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if block.Type == "resource" {
			kinds[block.Labels[0]]++
		}
	}
	tables := len(items.AndonTables())
	if kinds["aws_dynamodb_table"] != tables || kinds["aws_cloudwatch_metric_alarm"] != 4*tables {
		t.Errorf("it has %v, want %d tables with 4 alarms each", kinds, tables)
	}
}
