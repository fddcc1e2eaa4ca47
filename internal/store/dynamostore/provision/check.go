package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/shared"
)

func schema(k ddb.Keys) []types.KeySchemaElement {
	all := []types.KeySchemaElement{{AttributeName: aws.String(k.Hash),
		KeyType: types.KeyTypeHash}}
	if k.Sort != "" {
		all = append(all, types.KeySchemaElement{AttributeName: aws.String(k.Sort),
			KeyType: types.KeyTypeRange})
	}
	return all
}

func keysOf(schema []types.KeySchemaElement) (k ddb.Keys) {
	for _, e := range schema {
		if e.KeyType == types.KeyTypeHash {
			k.Hash = aws.ToString(e.AttributeName)
		} else {
			k.Sort = aws.ToString(e.AttributeName)
		}
	}
	return k
}

func attributes(t ddb.Table) (all []types.AttributeDefinition) {
	names := []string{t.Key.Hash, t.Key.Sort}
	for _, i := range t.Indexes {
		names = append(names, i.Key.Hash, i.Key.Sort)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "" {
			all = append(all, types.AttributeDefinition{AttributeName: aws.String(name),
				AttributeType: types.ScalarAttributeTypeS})
		}
	}
	return all
}

func projection(i ddb.Index) *types.Projection {
	p := &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	switch {
	case i.All:
		p.ProjectionType = types.ProjectionTypeAll
	case len(i.Projects) > 0:
		p.ProjectionType, p.NonKeyAttributes = types.ProjectionTypeInclude, i.Projects
	}
	return p
}

func findIndex(
	is *types.TableDescription, name string,
) *types.GlobalSecondaryIndexDescription {
	for i := range is.GlobalSecondaryIndexes {
		if aws.ToString(is.GlobalSecondaryIndexes[i].IndexName) == name {
			return &is.GlobalSecondaryIndexes[i]
		}
	}
	return nil
}

// differs returns why a table that exists can't be used: its keys can't be changed.
func differs(t ddb.Table, is *types.TableDescription) error {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range is.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	check := func(place string, want ddb.Keys, schema []types.KeySchemaElement) error {
		if found := keysOf(schema); found != want {
			return andon.Errorf(andon.Conflict, "%s has the key %s, and Andon needs %s: it is not "+
				"one of Andon's, so set another dynamodb.prefix", place, found, want)
		}
		for _, key := range []string{want.Hash, want.Sort} {
			if kind := kinds[key]; key != "" && kind != types.ScalarAttributeTypeS {
				return andon.Errorf(andon.Conflict, "%s has the key attribute %s of type %s, and "+
					"Andon needs S: set another dynamodb.prefix", place, key, kind)
			}
		}
		return nil
	}
	if err := check("table "+t.Name, t.Key, is.KeySchema); err != nil {
		return err
	}
	for _, want := range t.Indexes {
		found := findIndex(is, want.Name)
		if found == nil {
			continue // it is missing, which is no contradiction
		}
		place := fmt.Sprintf("index %s of table %s", want.Name, t.Name)
		if err := check(place, want.Key, found.KeySchema); err != nil {
			return err
		}
		if err := projects(want, place, found.Projection); err != nil {
			return err
		}
	}
	return nil
}

// projects returns an error that names what readers take from an index and it lacks.
func projects(i ddb.Index, place string, p *types.Projection) error {
	if p == nil || p.ProjectionType == types.ProjectionTypeAll {
		return nil
	}
	missing := i.Projects
	if i.All {
		missing = []string{"all attributes"}
	} else {
		missing = slices.DeleteFunc(slices.Clone(missing), func(name string) bool {
			return slices.Contains(p.NonKeyAttributes, name)
		})
	}
	if len(missing) == 0 {
		return nil
	}
	return andon.Errorf(andon.Conflict, "%s does not project %s: delete the index, and run `andon "+
		"store init`, which makes it again", place, strings.Join(missing, ", "))
}

// unready returns what of a table can't be used yet.
func unready(name string, is *types.TableDescription) error {
	switch is.TableStatus {
	case types.TableStatusActive, types.TableStatusUpdating:
	default:
		return andon.Errorf(andon.Unavailable, "table %s is %s: wait until it is ACTIVE", name,
			is.TableStatus)
	}
	for _, i := range is.GlobalSecondaryIndexes {
		switch i.IndexStatus {
		case types.IndexStatusActive, types.IndexStatusUpdating, "":
		default:
			return andon.Errorf(andon.Unavailable, "index %s of table %s is still being built "+
				"(%s): it does not know all items yet, so wait until it is ACTIVE",
				aws.ToString(i.IndexName), name, i.IndexStatus)
		}
	}
	return nil
}

// Verify returns why tables can't be used: what is missing, or other than Andon needs it.
func Verify(ctx context.Context, c *ddb.Client, all []ddb.Table) error {
	found := make([]error, len(all))
	err := shared.Parallel(ctx, len(all), func(ctx context.Context, n int) error {
		name := all[n].Name
		is, err := describe(ctx, c.SDK(), name)
		switch {
		case err != nil:
			return err
		case is == nil:
			found[n] = andon.Errorf(andon.Invalid, "there is no table %s in %s: run `andon "+
				"store init`, or correct dynamodb.region, dynamodb.prefix or dynamodb.table", name,
				c.Region())
		default:
			found[n] = unusable(all[n], is)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(found...)
}

// Usable remembers for readyFor that tables can be used: whoever asks a process whether it is ready
// may do so each second, and the service limits how often tables are described.
type Usable struct{ found atomic.Pointer[time.Time] }

const readyFor = 10 * time.Second

// Verify is the function Verify, unless it found nothing wrong a moment ago.
func (u *Usable) Verify(ctx context.Context, c *ddb.Client, all []ddb.Table) error {
	now := c.Now()
	if found := u.found.Load(); found != nil && now.Sub(*found).Abs() < readyFor {
		return nil
	}
	err := Verify(ctx, c, all)
	if err == nil {
		u.found.Store(&now)
	}
	return err
}

// unusable returns what keeps a table from being used.
func unusable(t ddb.Table, is *types.TableDescription) error {
	if err := differs(t, is); err != nil {
		return err
	}
	for _, i := range t.Indexes {
		if findIndex(is, i.Name) == nil {
			return andon.Errorf(andon.Invalid, "table %s lacks the index %s: run `andon store "+
				"init`, which builds it", t.Name, i.Name)
		}
	}
	return unready(t.Name, is)
}
