package cql

import (
	"context"
	"errors"
	"net"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
)

// Failure turns an error of the driver into one of Andon, whose kind says what a caller can do
// about it. Errors of Andon and of the context pass through.
func Failure(doing string, err error) error {
	var own *andon.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return andon.Errorf(andon.Unavailable,
			"%s: Cassandra did not answer in time: %w", doing, err)
	}
	if IsMissing(err) {
		return andon.Errorf(andon.Unavailable, "%s: something is missing in the keyspace: run "+
			"`andon store init`%w", doing, driverError{err})
	}
	return andon.Errorf(kindOf(err), "%s: %s%w", doing, words(err), driverError{err})
}

// driverError is an error of the driver, after the words that say what it means.
type driverError struct{ error }

// Error leaves out what the words have said.
func (e driverError) Error() string {
	text := strings.TrimPrefix(e.error.Error(), "gocql: ")
	if errors.Is(e.error, gocql.ErrNoConnections) || text == "" {
		return ""
	}
	return ": " + text
}

// Unwrap returns the error of the driver.
func (e driverError) Unwrap() error { return e.error }

// kindOf is the kind of an error of the driver. Only what Cassandra itself refuses as malformed is
// a defect of Andon; everything else passes by itself, or once somebody repairs the cluster, and
// sending again converges.
func kindOf(err error) andon.Kind {
	var request gocql.RequestError
	if !errors.As(err, &request) {
		return andon.Unavailable
	}
	switch request.Code() {
	case gocql.ErrCodeOverloaded:
		return andon.Busy
	case gocql.ErrCodeSyntax, gocql.ErrCodeProtocol, gocql.ErrCodeInvalid:
		return andon.Internal
	}
	return andon.Unavailable
}

// words says what happened to the cluster.
func words(err error) string {
	var request gocql.RequestError
	if errors.As(err, &request) {
		return wordsOf(request)
	}
	var address net.Error
	switch {
	case errors.Is(err, gocql.ErrNoConnections), errors.Is(err, gocql.ErrUnavailable),
		errors.Is(err, gocql.ErrNoConnectionsStarted):
		return "no node of Cassandra can be reached"
	case errors.Is(err, gocql.ErrTimeoutNoResponse):
		return "Cassandra did not answer in time"
	case errors.Is(err, gocql.ErrConnectionClosed), errors.As(err, &address):
		return "the connection to Cassandra broke"
	}
	return "Cassandra can't be asked"
}

func wordsOf(request gocql.RequestError) string {
	switch request.Code() {
	case gocql.ErrCodeUnavailable:
		return "too few replicas are alive for the consistency"
	case gocql.ErrCodeOverloaded:
		return "Cassandra is overloaded"
	case gocql.ErrCodeBootstrapping:
		return "the node is still starting"
	case gocql.ErrCodeWriteTimeout:
		return "too few replicas acknowledged the write in time (it may have happened)"
	case gocql.ErrCodeReadTimeout:
		return "too few replicas answered the read in time"
	case gocql.ErrCodeReadFailure, gocql.ErrCodeWriteFailure:
		return "a replica failed"
	case gocql.ErrCodeUnauthorized, gocql.ErrCodeCredentials:
		return "the user lacks a right"
	}
	return "Cassandra refuses"
}

// IsMissing reports whether a keyspace, a table or a column is not there.
func IsMissing(err error) bool {
	text := err.Error()
	return strings.Contains(text, "unconfigured table") ||
		strings.Contains(text, "does not exist") || strings.Contains(text, "Undefined column")
}
