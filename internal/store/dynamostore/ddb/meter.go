package ddb

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// meter counts what calls consumed, as the service reported it, and how they failed.
type meter struct {
	unprocessed atomic.Int64 // answers that left a part undone

	mu       sync.Mutex
	consumed map[consumer]float64
	failed   map[string]int64 // calls, by the way in which they failed
	attempts map[string]int64 // the same, of each attempt of a call
}

type consumer struct{ operation, table, index string }

// The ways in which a call can fail that an operator can do something about. A write whose
// condition does not hold is paid for as if it did.
const (
	failedThrottled = "throttled"
	failedSystem    = "system_errors"
	failedCondition = "conditions"
)

func (m *meter) note(operation string, all []types.ConsumedCapacity, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range all {
		table := aws.ToString(c.TableName)
		if c.Table == nil && len(c.GlobalSecondaryIndexes) == 0 {
			m.consumed[consumer{operation, table, ""}] += aws.ToFloat64(c.CapacityUnits)
			continue
		}
		if c.Table != nil {
			m.consumed[consumer{operation, table, ""}] += aws.ToFloat64(c.Table.CapacityUnits)
		}
		for index, used := range c.GlobalSecondaryIndexes {
			m.consumed[consumer{operation, table, index}] += aws.ToFloat64(used.CapacityUnits)
		}
	}
	if way := failing(err); way != "" {
		m.failed[way]++
	}
}

// attempt counts one that failed, whether it is repeated or not.
func (m *meter) attempt(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if way := failing(err); way != "" {
		m.attempts[way]++
	}
}

// failing returns in which of these ways a call failed; "" where in none.
func failing(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	switch code := api.ErrorCode(); {
	case strings.Contains(code, "Throttl"), strings.Contains(code, "ThroughputExceeded"):
		return failedThrottled
	case code == "ConditionalCheckFailedException":
		return failedCondition
	case api.ErrorFault() == smithy.FaultServer:
		return failedSystem
	}
	return ""
}

// Figures reports each metric of the calls of this process.
func (c *Client) Figures(report func(name, help string, value float64, labels ...string)) {
	m := &c.meter
	report("unprocessed_total", "Answers of DynamoDB that left a part of a batch undone.",
		float64(m.unprocessed.Load()))
	m.mu.Lock()
	defer m.mu.Unlock()
	report("throttled_total", "Calls that DynamoDB throttled, after all repetitions.",
		float64(m.failed[failedThrottled]))
	report("system_errors_total", "Calls that failed within DynamoDB, after all repetitions.",
		float64(m.failed[failedSystem]))
	report("conditions_failed_total", "Writes that DynamoDB charged and did not do, since another "+
		"process was faster.", float64(m.failed[failedCondition]))
	for _, way := range []string{failedThrottled, failedSystem} {
		report("attempts_failed_total", "Attempts that DynamoDB throttled, or that failed within "+
			"it, before they were repeated.", float64(m.attempts[way]), "reason", way)
	}
	for by, units := range m.consumed {
		report("consumed_units_total", "Capacity units that calls consumed, on a table or an "+
			"index.", units, "operation", by.operation, "table", by.table, "index", by.index)
	}
}
