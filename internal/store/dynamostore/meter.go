package dynamostore

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// meter counts what calls consume, as the service says, and how they fail.
type meter struct {
	unprocessed atomic.Int64 // answers that left a part undone

	mu       sync.Mutex
	consumed map[consumer]float64
	failed   map[string]int64 // calls, by what went wrong
	attempts map[string]int64 // the same, of each attempt of a call
}

// consumer is an operation on a table, or on an index of it.
type consumer struct{ operation, table, index string }

// The ways in which a call can fail that a person can do something about.
const (
	failedThrottled = "throttled"
	failedSystem    = "system_errors"
)

func (m *meter) note(operation string, all []types.ConsumedCapacity, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.consumed == nil {
		m.consumed, m.failed = map[consumer]float64{}, map[string]int64{}
	}
	for _, c := range all {
		table := aws.ToString(c.TableName)
		if c.Table == nil && len(c.GlobalSecondaryIndexes) == 0 {
			m.consumed[consumer{operation, table, ""}] += aws.ToFloat64(c.CapacityUnits)
			continue
		}
		if c.Table != nil {
			m.consumed[consumer{operation, table, ""}] += aws.ToFloat64(c.Table.CapacityUnits)
		}
		for index, of := range c.GlobalSecondaryIndexes {
			m.consumed[consumer{operation, table, index}] += aws.ToFloat64(of.CapacityUnits)
		}
	}
	if what := failing(err); what != "" {
		m.failed[what]++
	}
}

// attempt counts one that failed, whether it is repeated or not.
func (m *meter) attempt(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.attempts == nil {
		m.attempts = map[string]int64{}
	}
	if what := failing(err); what != "" {
		m.attempts[what]++
	}
}

// failing says in which of the ways an error failed; "" is in none.
func failing(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	switch code := api.ErrorCode(); {
	case strings.Contains(code, "Throttl"), strings.Contains(code, "ThroughputExceeded"):
		return failedThrottled
	case api.ErrorFault() == smithy.FaultServer:
		return failedSystem
	}
	return ""
}

// Figures implements andon.Maintenance.
func (s *Store) Figures(tell func(name, help string, value float64, labels ...string)) {
	m := &s.meter
	tell("unprocessed_total", "Answers of DynamoDB that left a part of a batch undone.",
		float64(m.unprocessed.Load()))
	m.mu.Lock()
	defer m.mu.Unlock()
	tell("throttled_total", "Calls that DynamoDB throttled, after all repetitions.",
		float64(m.failed[failedThrottled]))
	tell("system_errors_total", "Calls that failed within DynamoDB, after all repetitions.",
		float64(m.failed[failedSystem]))
	for _, what := range []string{failedThrottled, failedSystem} {
		tell("attempts_failed_total", "Attempts that DynamoDB throttled, or that failed within "+
			"it, before they were repeated.", float64(m.attempts[what]), "reason", what)
	}
	for of, units := range m.consumed {
		tell("consumed_units_total", "Capacity units that calls consumed, on a table or an index.",
			units, "operation", of.operation, "table", of.table, "index", of.index)
	}
}
