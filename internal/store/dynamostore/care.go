package dynamostore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	scalingtypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/adapter"
)

// care makes tables, or what is missing of them.
type care struct {
	capacity Capacity
	db       *dynamodb.Client
	scaling  *applicationautoscaling.Client
	nowhere  bool // there is no service yet, so nothing is there
	dryRun   bool
	tell     func(statement string)
	made     []string // tables that were not there
}

// Init makes the tables with their indexes, or what is missing of them, and may be repeated, also
// by two processes at once. tell is given each call before it is done, as a command of the AWS CLI.
func Init(ctx context.Context, o Options, s adapter.Setup, tell func(statement string)) error {
	if s.Replication != "" || s.Retention != nil || s.ReadingsRetention != nil {
		return andon.Errorf(andon.Invalid, "DynamoDB keeps its own copies, and what it deletes is "+
			"said by dynamodb.retention and dynamodb.readings_retention: leave out --replication, "+
			"--retention and --readings-retention")
	}
	c := &care{capacity: o.Capacity, dryRun: s.DryRun, tell: tell}
	to, err := service(ctx, o.access())
	if err == nil {
		defer closeIdle(to.HTTPClient)
		c.db, c.scaling = dynamodb.NewFromConfig(to), applicationautoscaling.NewFromConfig(to)
		_, err = c.db.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)},
			func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
		err = failure("ListTables", "of the account", err)
	}
	if s.DryRun && andon.KindOf(err) == andon.Unavailable {
		tell(fmt.Sprintf("# %s\n# So this is for tables that are not there yet", err))
		c.nowhere, err = true, nil
	}
	for _, t := range o.tables() {
		if err == nil {
			err = c.table(ctx, t)
		}
	}
	if err != nil || o.Layout == layoutReference {
		return err
	}
	if err := c.list(ctx, o, s.RemoveIndexes); err != nil {
		return err
	}
	return c.spare(ctx, o, s.RemoveIndexes)
}

// Init implements adapter.Schema.
func (e *Engine) Init(
	ctx context.Context, env adapter.Env, s adapter.Setup, tell func(statement string),
) error {
	return Init(ctx, e.in(env), s, tell)
}

// do tells a call as a command of the AWS CLI, and does it.
func (c *care) do(command, place string, input any, call func() error) error {
	text, err := inputText(input)
	if err != nil {
		return err
	}
	c.tell("aws " + command + " --cli-input-json '" + text + "'")
	if c.dryRun {
		return nil
	}
	return failure(command, place, call())
}

// inputText is an input of the SDK as the CLI takes it: without what is absent.
func inputText(input any) (string, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return "", err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return "", err
	}
	text, err = json.Marshal(withoutNull(value))
	return string(text), err
}

func withoutNull(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, of := range v {
			if of == nil || of == "" {
				delete(v, name)
			} else {
				v[name] = withoutNull(of)
			}
		}
	case []any:
		for i, of := range v {
			v[i] = withoutNull(of)
		}
	}
	return value
}

// table makes one table, or what is missing of it.
func (c *care) table(ctx context.Context, t table) error {
	name := t.name
	is, err := c.describe(ctx, name)
	if err != nil {
		return err
	}
	if is == nil {
		c.made = append(c.made, name)
		in := c.create(name, t)
		err = c.do("dynamodb create-table", name, in, func() error {
			_, err := c.db.CreateTable(ctx, in)
			return err
		})
	} else if err = t.differs(name, is); err == nil {
		err = c.indexes(ctx, name, t, is)
	}
	if err == nil {
		err = c.wait(ctx, name)
	}
	if err == nil && t.ttl != "" {
		err = c.expiry(ctx, name, t.ttl, is != nil)
	}
	switch {
	case err != nil || c.capacity.Mode != provisioned:
	case is != nil && paidOnDemand(is):
		c.tell("# " + name + " is paid for on demand, and stays so; aws dynamodb update-table " +
			"changes it")
	default:
		err = c.scale(ctx, name, t)
	}
	return err
}

func paidOnDemand(is *types.TableDescription) bool {
	return is.BillingModeSummary != nil &&
		is.BillingModeSummary.BillingMode == types.BillingModePayPerRequest
}

// describe returns what a table is; nil where there is none.
func (c *care) describe(ctx context.Context, name string) (*types.TableDescription, error) {
	if c.nowhere {
		return nil, nil
	}
	return describe(ctx, c.db, name)
}

func describe(
	ctx context.Context, db *dynamodb.Client, name string,
) (*types.TableDescription, error) {
	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if errors.As(err, new(*types.ResourceNotFoundException)) {
		return nil, nil
	}
	if err != nil {
		return nil, failure("DescribeTable", name, err)
	}
	return out.Table, nil
}

func (c *care) create(name string, t table) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: &name, KeySchema: t.key.schema(), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: t.attributes(),
	}
	for _, i := range t.indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(i.name), KeySchema: i.key.schema(), Projection: i.projection(),
			ProvisionedThroughput: c.throughput(),
		})
	}
	if in.ProvisionedThroughput = c.throughput(); in.ProvisionedThroughput != nil {
		in.BillingMode = types.BillingModeProvisioned
	}
	return in
}

// throughput is what auto scaling begins with; nil on demand.
func (c *care) throughput() *types.ProvisionedThroughput {
	if c.capacity.Mode != provisioned {
		return nil
	}
	return &types.ProvisionedThroughput{
		ReadCapacityUnits:  aws.Int64(int64(c.capacity.Read.Min)),
		WriteCapacityUnits: aws.Int64(int64(c.capacity.Write.Min)),
	}
}

// indexes makes the indexes that a table lacks. The service makes one at a time.
func (c *care) indexes(
	ctx context.Context, name string, t table, is *types.TableDescription,
) error {
	paid := c.throughput()
	if paidOnDemand(is) {
		paid = nil
	}
	for _, i := range t.indexes {
		if indexOf(is, i.name) != nil {
			continue
		}
		if err := c.wait(ctx, name); err != nil {
			return err
		}
		in := &dynamodb.UpdateTableInput{
			TableName: &name, AttributeDefinitions: t.attributes(),
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
				Create: &types.CreateGlobalSecondaryIndexAction{
					IndexName: aws.String(i.name), KeySchema: i.key.schema(),
					Projection: i.projection(), ProvisionedThroughput: paid,
				},
			}},
		}
		err := c.do("dynamodb update-table", name, in, func() error {
			_, err := c.db.UpdateTable(ctx, in)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wait waits until a table and its indexes are there. An index of a large table takes hours.
func (c *care) wait(ctx context.Context, name string) error {
	if c.dryRun {
		c.tell("aws dynamodb wait table-exists --table-name " + name)
		return nil
	}
	const longest = 5 * time.Second
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, longest) {
		is, err := c.describe(ctx, name)
		if err != nil {
			return err
		}
		if is != nil && unready(name, is) == nil {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// expiry has a table delete what has expired.
func (c *care) expiry(ctx context.Context, name, attribute string, there bool) error {
	if there && !c.nowhere {
		on, err := expiryOf(ctx, c.db, name)
		if err != nil || on == attribute {
			return c.unlessUnknown(err, name+": this engine deletes nothing that has expired; "+
				"answers leave it out nevertheless")
		}
	}
	in := &dynamodb.UpdateTimeToLiveInput{TableName: &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: &attribute, Enabled: aws.Bool(true),
		}}
	err := c.do("dynamodb update-time-to-live", name, in, func() error {
		_, err := c.db.UpdateTimeToLive(ctx, in)
		return unknown(err)
	})
	return c.unlessUnknown(err, name+": this engine has no UpdateTimeToLive, so it deletes "+
		"nothing that has expired; answers leave it out nevertheless")
}

// expiryOf returns the attribute by which items of a table expire; "" where they do not.
func expiryOf(ctx context.Context, db *dynamodb.Client, name string) (string, error) {
	out, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return "", failure("DescribeTimeToLive", name, unknown(err))
	}
	switch d := out.TimeToLiveDescription; d.TimeToLiveStatus {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		return aws.ToString(d.AttributeName), nil
	}
	return "", nil
}

// unknown marks an error that says that an engine does not know an operation: imitations of the
// service lack some, and answer 404 to other services than this one.
func unknown(err error) error {
	var api smithy.APIError
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &api) && api.ErrorCode() == "UnknownOperationException" ||
		errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusNotFound {
		return andon.Errorf(andon.Unsupported, "the engine does not know it: %w", err)
	}
	return err
}

// unlessUnknown tells a note where an engine does not know an operation.
func (c *care) unlessUnknown(err error, note string) error {
	if andon.KindOf(err) == andon.Unsupported {
		c.tell("# " + note)
		return nil
	}
	return err
}

// scale has auto scaling move what is provisioned, where it does not yet.
func (c *care) scale(ctx context.Context, name string, t table) error {
	for _, s := range c.capacity.scaledOf(name, t) {
		err := c.scaleOne(ctx, s)
		if err := c.unlessUnknown(err, s.Resource+": this engine has no auto scaling"); err != nil {
			return err
		}
		if andon.KindOf(err) == andon.Unsupported {
			return nil
		}
	}
	return nil
}

func (c *care) scaleOne(ctx context.Context, s scaled) error {
	is, err := c.scalable(ctx, s)
	if err != nil {
		return err
	}
	const dynamo = scalingtypes.ServiceNamespaceDynamodb
	dimension := scalingtypes.ScalableDimension(s.Dimension)
	to := &applicationautoscaling.RegisterScalableTargetInput{
		ServiceNamespace: dynamo, ResourceId: &s.Resource, ScalableDimension: dimension,
		MinCapacity: aws.Int32(int32(s.Min)), MaxCapacity: aws.Int32(int32(s.Max)),
	}
	if is != nil && aws.ToInt32(is.MinCapacity) == *to.MinCapacity &&
		aws.ToInt32(is.MaxCapacity) == *to.MaxCapacity {
		return nil
	}
	policy := &applicationautoscaling.PutScalingPolicyInput{
		ServiceNamespace: dynamo, ResourceId: &s.Resource, ScalableDimension: dimension,
		PolicyName: &s.Name, PolicyType: scalingtypes.PolicyTypeTargetTrackingScaling,
		TargetTrackingScalingPolicyConfiguration: &scalingtypes.
			TargetTrackingScalingPolicyConfiguration{
			TargetValue: aws.Float64(target),
			PredefinedMetricSpecification: &scalingtypes.PredefinedMetricSpecification{
				PredefinedMetricType: scalingtypes.MetricType(s.Metric),
			},
		},
	}
	err = c.do("application-autoscaling register-scalable-target", s.Resource, to, func() error {
		_, err := c.scaling.RegisterScalableTarget(ctx, to)
		return unknown(err)
	})
	if err != nil {
		return err
	}
	return c.do("application-autoscaling put-scaling-policy", s.Resource, policy, func() error {
		_, err := c.scaling.PutScalingPolicy(ctx, policy)
		return unknown(err)
	})
}

// scalable returns what auto scaling knows of a dimension; nil where it knows nothing.
func (c *care) scalable(ctx context.Context, s scaled) (*scalingtypes.ScalableTarget, error) {
	if c.nowhere {
		return nil, nil
	}
	out, err := c.scaling.DescribeScalableTargets(ctx,
		&applicationautoscaling.DescribeScalableTargetsInput{
			ServiceNamespace: scalingtypes.ServiceNamespaceDynamodb,
			ResourceIds:      []string{s.Resource},
		})
	if err != nil {
		return nil, failure("DescribeScalableTargets", s.Resource, unknown(err))
	}
	i := slices.IndexFunc(out.ScalableTargets, func(t scalingtypes.ScalableTarget) bool {
		return string(t.ScalableDimension) == s.Dimension
	})
	if i < 0 {
		return nil, nil
	}
	return &out.ScalableTargets[i], nil
}
