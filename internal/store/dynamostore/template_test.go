package dynamostore

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"go.yaml.in/yaml/v3"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
)

func TestSerialTemplates(t *testing.T) {
	dir := t.TempDir()
	for _, format := range (*Engine)(nil).Formats() {
		for _, mode := range (*Engine)(nil).Capacities() {
			t.Run(format+" "+mode, func(t *testing.T) {
				e := &Engine{Options: defaults()}
				indexed(items.ProjectsMetrics)(&e.Options)
				e.Capacity = provision.Capacity{
					Read:     provision.Units{Min: 11, Max: 1100, Warm: 13_000},
					Write:    provision.Units{Min: 12, Max: 1200, Warm: 4000},
					Stream:   "new-and-old-images",
					Recovery: true,
				}
				text, err := e.Template(format, mode)
				if err != nil {
					t.Fatal(err)
				}
				checkTemplate(t, filepath.Join(dir, mode), format, text)
				onDemand, isStack := mode == provision.OnDemand, format != "workbench"
				for what, want := range map[string]bool{
					"1200": isStack || !onDemand, "13000": isStack && onDemand,
					"NEW_AND_OLD_IMAGES": isStack, "PROVISIONED": !onDemand, "UpdateItem": false,
					"/index/*": isStack,
				} {
					if got := strings.Contains(text, what); got != want {
						t.Errorf("it has %s: %t", what, got)
					}
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
	stacks, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err == nil && len(stacks) != len((*Engine)(nil).Capacities()) {
		t.Errorf("the stacks are %q", stacks)
	}
	if err == nil {
		err = enginetest.CheckTemplates(t, stacks...)
	}
	if err != nil {
		t.Error(err)
	}
	if _, err := (&Engine{}).Template("pulumi", ""); andon.KindOf(err) != andon.Invalid {
		t.Errorf("an unknown format: %v", err)
	}
}

// checkModel reads a model as Workbench does: each attribute of a key or of an index is declared,
// and each table and index has a facet.
func checkModel(t *testing.T, text string) {
	t.Helper()
	type attribute struct{ AttributeName, AttributeType string }
	type keys struct{ PartitionKey, SortKey attribute }
	var model struct {
		DataModel []struct {
			TableName              string
			KeyAttributes          keys
			NonKeyAttributes       []attribute
			TableFacets            []struct{ FacetName string }
			GlobalSecondaryIndexes []struct {
				IndexName     string
				KeyAttributes keys
				Projection    struct{ NonKeyAttributes []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &model); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(model.DataModel) != 4 {
		t.Errorf("it has %d tables", len(model.DataModel))
	}
	for _, table := range model.DataModel {
		declared := map[string]string{"": ""}
		own := []attribute{table.KeyAttributes.PartitionKey, table.KeyAttributes.SortKey}
		for _, a := range append(own, table.NonKeyAttributes...) {
			if a.AttributeName != "" && declared[a.AttributeName] != "" {
				t.Errorf("%s declares %s twice", table.TableName, a.AttributeName)
			}
			declared[a.AttributeName] = a.AttributeType
		}
		if len(table.TableFacets) != 1+len(table.GlobalSecondaryIndexes) {
			t.Errorf("%s has %d facets", table.TableName, len(table.TableFacets))
		}
		for n, i := range table.GlobalSecondaryIndexes {
			if !strings.HasPrefix(table.TableFacets[n+1].FacetName, i.IndexName+": ") {
				t.Errorf("%s has no facet of %s", table.TableName, i.IndexName)
			}
			for _, a := range []attribute{i.KeyAttributes.PartitionKey, i.KeyAttributes.SortKey} {
				if declared[a.AttributeName] != a.AttributeType {
					t.Errorf("%s does not declare %s of %s", table.TableName, a, i.IndexName)
				}
			}
			for _, name := range i.Projection.NonKeyAttributes {
				if declared[name] == "" {
					t.Errorf("%s does not declare %s of %s", table.TableName, name, i.IndexName)
				}
			}
		}
	}
}

// checkTemplate has a tool of the format's own look at a template. One of CloudFormation it writes
// to a path, for the tool to read it together with others.
func checkTemplate(t *testing.T, path, format, text string) {
	t.Helper()
	if format == "workbench" {
		checkModel(t, text)
		return
	}
	if format == "cloudformation" {
		if err := os.WriteFile(path+".yaml", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	file, problems := hclsyntax.ParseConfig([]byte(text), "andon.tf", hcl.InitialPos)
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems, text)
	}
	if tidy := hclwrite.Format([]byte(text)); string(tidy) != text {
		t.Errorf("terraform fmt would change it to\n%s", tidy)
	}
	if tool, err := exec.LookPath("terraform"); err == nil {
		path := filepath.Join(t.TempDir(), "andon.tf")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), tool, "fmt", "-check", path).CombinedOutput()
		if err != nil {
			t.Errorf("terraform fmt: %v\n%s", err, out)
		}
	}
	kinds := map[string]int{}
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if block.Type == "resource" {
			kinds[block.Labels[0]]++
		}
	}
	const tables, indexes = 4, 8
	if kinds["aws_dynamodb_table"] != tables || kinds["aws_iam_policy"] != 1 ||
		kinds["aws_cloudwatch_metric_alarm"] != 4*tables+3*indexes {
		t.Errorf("it has %v, want %d tables with 4 alarms each, and 3 for each index",
			kinds, tables)
	}
}

// TestSerialActions: the policy of the templates allows what the client calls, and nothing else.
func TestSerialActions(t *testing.T) {
	files, err := filepath.Glob("ddb/*.go")
	if err != nil {
		t.Fatal(err)
	}
	calls := []string{"DescribeTable", "DescribeTimeToLive"} // of package provision
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\.sdk\.(\w+)`).FindAllSubmatch(text, -1) {
			if name := string(m[1]); name != "Options" {
				calls = append(calls, name)
			}
		}
	}
	slices.Sort(calls)
	if calls = slices.Compact(calls); !slices.Equal(calls, ddb.Actions(true)) {
		t.Errorf("it calls %q, and the policy allows %q", calls, ddb.Actions(true))
	}
}

// TestSerialStack: tables that the template makes can be used at once, with the index of a metric.
// A process with another list is refused, as with tables of andon store init.
func TestSerialStack(t *testing.T) {
	o := newTables(t)
	db := rawClient(t, o.Endpoint)
	o.Prefix = fmt.Sprintf("stack%08x-", rand.Uint32())
	o.MetricIndex, o.LatestIndex = []string{"temperature"}, items.ProjectsAll
	o.Readings = ddb.Eventual
	text, err := (&Engine{Options: o}).Template("cloudformation", "")
	if err != nil {
		t.Fatal(err)
	}
	var stack struct {
		Resources map[string]struct {
			Type       string         `yaml:"Type"`
			Properties map[string]any `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal([]byte(text), &stack); err != nil {
		t.Fatal(err)
	}
	for _, r := range stack.Resources {
		if r.Type != "AWS::DynamoDB::Table" {
			continue
		}
		var in dynamodb.CreateTableInput // its fields have the names of the properties
		text, err := json.Marshal(r.Properties)
		if err == nil {
			err = json.Unmarshal(text, &in)
		}
		if err == nil {
			_, err = db.CreateTable(t.Context(), &in)
		}
		if err == nil {
			soon := func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = time.Millisecond }
			err = dynamodb.NewTableExistsWaiter(db, soon).Wait(t.Context(),
				&dynamodb.DescribeTableInput{TableName: in.TableName}, time.Minute)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, o)
	reading := andon.Reading{Device: "d", Time: realClock() - 1e6, Metrics: andon.Metrics{
		{Name: "temperature", Value: 21.5}}}
	err = s.AppendReadings(t.Context(), andon.DefaultTenant, realClock(), []andon.Reading{reading})
	if err != nil {
		t.Fatal(err)
	}
	found := listOf(t, s.MetricReadings(eventually(t.Context()), andon.DefaultTenant,
		andon.MetricQuery{Metric: "temperature", Limit: 9}))
	if len(found) != 1 || !found[0].ByTime {
		t.Errorf("the index finds %+v", found)
	}
	other := o
	other.MetricIndex = nil
	if _, err := Open(t.Context(), other); andon.KindOf(err) != andon.Conflict {
		t.Errorf("a process without the list: %v", err)
	}
}
