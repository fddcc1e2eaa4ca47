package cql

import (
	"errors"
	"sync/atomic"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// reasons are why an attempt of a statement failed.
var reasons = [...]string{"unavailable", "read_timeout", "write_timeout", "overloaded", "other"}

// failures counts the attempts that failed, by their reason.
type failures [len(reasons)]atomic.Int64

func (f *failures) count(err error) {
	reason := len(reasons) - 1
	var request gocql.RequestError
	if errors.As(err, &request) {
		switch request.Code() {
		case gocql.ErrCodeUnavailable:
			reason = 0
		case gocql.ErrCodeReadTimeout:
			reason = 1
		case gocql.ErrCodeWriteTimeout:
			reason = 2
		case gocql.ErrCodeOverloaded:
			reason = 3
		}
	}
	f[reason].Add(1)
}

// Failures calls report for each reason why attempts of statements failed, with their number since
// the session was created. Most were repeated on another node.
func (s *Session) Failures(report func(reason string, attempts int64)) {
	for i, reason := range reasons {
		report(reason, s.failures[i].Load())
	}
}

// again retries what may succeed on another node. Every statement may be sent again: it names its
// write timestamp, or reads.
type again struct {
	most     int
	failures *failures
}

// Attempt implements gocql.RetryPolicy.
func (a *again) Attempt(q gocql.RetryableQuery) bool { return q.Attempts() <= a.most }

// GetRetryType implements gocql.RetryPolicy.
func (a *again) GetRetryType(err error) gocql.RetryType {
	a.failures.count(err)
	var request gocql.RequestError
	if !errors.As(err, &request) {
		return gocql.RetryNextHost
	}
	switch request.Code() {
	case gocql.ErrCodeUnavailable, gocql.ErrCodeBootstrapping, gocql.ErrCodeWriteTimeout,
		gocql.ErrCodeReadTimeout, gocql.ErrCodeReadFailure, gocql.ErrCodeServer:
		return gocql.RetryNextHost
	}
	return gocql.Rethrow // an overloaded cluster is not asked more
}
