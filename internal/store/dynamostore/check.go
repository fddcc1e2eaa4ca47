package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// schema is a key as the service describes one.
func (k keys) schema() []types.KeySchemaElement {
	all := []types.KeySchemaElement{{AttributeName: aws.String(k.hash),
		KeyType: types.KeyTypeHash}}
	if k.sort != "" {
		all = append(all, types.KeySchemaElement{AttributeName: aws.String(k.sort),
			KeyType: types.KeyTypeRange})
	}
	return all
}

// String is a key as a person reads it.
func (k keys) String() string {
	if k.sort == "" {
		return "(" + k.hash + ")"
	}
	return "(" + k.hash + ", " + k.sort + ")"
}

func keysOf(schema []types.KeySchemaElement) (k keys) {
	for _, e := range schema {
		if e.KeyType == types.KeyTypeHash {
			k.hash = aws.ToString(e.AttributeName)
		} else {
			k.sort = aws.ToString(e.AttributeName)
		}
	}
	return k
}

// attributes are those of all keys of a table.
func (t table) attributes() (all []types.AttributeDefinition) {
	names := []string{t.key.hash, t.key.sort}
	for _, i := range t.indexes {
		names = append(names, i.key.hash, i.key.sort)
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

func (i index) projection() *types.Projection {
	p := &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	switch {
	case i.all:
		p.ProjectionType = types.ProjectionTypeAll
	case len(i.projects) > 0:
		p.ProjectionType, p.NonKeyAttributes = types.ProjectionTypeInclude, i.projects
	}
	return p
}

func indexOf(
	is *types.TableDescription, name string,
) *types.GlobalSecondaryIndexDescription {
	for i := range is.GlobalSecondaryIndexes {
		if aws.ToString(is.GlobalSecondaryIndexes[i].IndexName) == name {
			return &is.GlobalSecondaryIndexes[i]
		}
	}
	return nil
}

// differs says why a table that is there can't be used: its keys can't be changed any more.
func (t table) differs(name string, is *types.TableDescription) error {
	attributes := map[string]types.ScalarAttributeType{}
	for _, a := range is.AttributeDefinitions {
		attributes[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	check := func(place string, want keys, schema []types.KeySchemaElement) error {
		if has := keysOf(schema); has != want {
			return andon.Errorf(andon.Conflict, "%s has the key %s, and Andon needs %s: it is not "+
				"one of Andon's, so set another dynamodb.prefix", place, has, want)
		}
		for _, key := range []string{want.hash, want.sort} {
			if of := attributes[key]; key != "" && of != types.ScalarAttributeTypeS {
				return andon.Errorf(andon.Conflict, "%s has the key attribute %s of type %s, and "+
					"Andon needs S: set another dynamodb.prefix", place, key, of)
			}
		}
		return nil
	}
	if err := check("table "+name, t.key, is.KeySchema); err != nil {
		return err
	}
	for _, want := range t.indexes {
		has := indexOf(is, want.name)
		if has == nil {
			continue // it is missing, which is no contradiction
		}
		place := fmt.Sprintf("index %s of table %s", want.name, name)
		if err := check(place, want.key, has.KeySchema); err != nil {
			return err
		}
		if err := want.projectsIn(place, has.Projection); err != nil {
			return err
		}
	}
	return nil
}

// projectsIn says what an index lacks that readers take from it.
func (i index) projectsIn(place string, has *types.Projection) error {
	if has == nil || has.ProjectionType == types.ProjectionTypeAll {
		return nil
	}
	missing := i.projects
	if i.all {
		missing = []string{"all attributes"}
	} else {
		missing = slices.DeleteFunc(slices.Clone(missing), func(name string) bool {
			return slices.Contains(has.NonKeyAttributes, name)
		})
	}
	if len(missing) == 0 {
		return nil
	}
	return andon.Errorf(andon.Conflict, "%s does not project %s: delete the index, and run `andon "+
		"store init`, which makes it again", place, strings.Join(missing, ", "))
}

// unready says what of a table can't be used yet.
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

// verify says why tables can't be used, if so: what is missing, or other than Andon needs it.
func verify(ctx context.Context, db *dynamodb.Client, all []table) error {
	found := make([]error, len(all))
	err := shared.Parallel(ctx, len(all), func(ctx context.Context, n int) error {
		name := all[n].name
		is, err := describe(ctx, db, name)
		switch {
		case err != nil:
			return err
		case is == nil:
			found[n] = andon.Errorf(andon.Unavailable, "there is no table %s in %s: run `andon "+
				"store init`, or correct dynamodb.region, dynamodb.prefix or dynamodb.table", name,
				db.Options().Region)
		default:
			found[n] = all[n].wrong(name, is)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(found...)
}

// wrong says what keeps a table from being used.
func (t table) wrong(name string, is *types.TableDescription) error {
	if err := t.differs(name, is); err != nil {
		return err
	}
	if err := t.lacks(name, is); err != nil {
		return err
	}
	return unready(name, is)
}

// lacks says which index is missing.
func (t table) lacks(name string, is *types.TableDescription) error {
	for _, i := range t.indexes {
		if indexOf(is, i.name) == nil {
			return andon.Errorf(andon.Unavailable, "table %s lacks the index %s: run `andon store "+
				"init`, which builds it", name, i.name)
		}
	}
	return nil
}
