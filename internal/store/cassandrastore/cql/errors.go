package cql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
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
	kind, words := meaning(err)
	return andon.Errorf(kind, "%s: %s%w", doing, words, driverError{err})
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

// meaning is the kind of an error of the driver, and what happened to the cluster. Only what
// Cassandra itself refuses as malformed is a defect of Andon; everything else passes by itself, or
// once somebody repairs the cluster, and sending again converges.
func meaning(err error) (andon.Kind, string) {
	var request gocql.RequestError
	if errors.As(err, &request) {
		return meaningOf(request)
	}
	var address net.Error
	switch {
	case errors.Is(err, gocql.ErrNoConnections), errors.Is(err, gocql.ErrUnavailable),
		errors.Is(err, gocql.ErrNoConnectionsStarted):
		return andon.Unavailable, "no node of Cassandra can be reached"
	case errors.Is(err, gocql.ErrTimeoutNoResponse):
		return andon.Unavailable, "Cassandra did not answer in time"
	case errors.Is(err, gocql.ErrConnectionClosed), errors.As(err, &address):
		return andon.Unavailable, "the connection to Cassandra broke"
	}
	return andon.Unavailable, "Cassandra can't be asked"
}

func meaningOf(request gocql.RequestError) (andon.Kind, string) {
	switch request.Code() {
	case gocql.ErrCodeUnavailable:
		return andon.Unavailable, "too few replicas are alive for the consistency"
	case gocql.ErrCodeOverloaded:
		return andon.Busy, "Cassandra is overloaded"
	case gocql.ErrCodeBootstrapping:
		return andon.Unavailable, "the node is still starting"
	case gocql.ErrCodeWriteTimeout:
		return andon.Unavailable,
			"too few replicas acknowledged the write in time (it may have happened)"
	case gocql.ErrCodeReadTimeout:
		return andon.Unavailable, "too few replicas answered the read in time"
	case gocql.ErrCodeReadFailure, gocql.ErrCodeWriteFailure:
		return andon.Unavailable, "a replica failed"
	case gocql.ErrCodeUnauthorized, gocql.ErrCodeCredentials:
		return andon.Unavailable, "the user lacks a right" + grantOf(request.Message())
	case gocql.ErrCodeSyntax, gocql.ErrCodeProtocol, gocql.ErrCodeInvalid:
		return andon.Internal, "Cassandra refuses"
	}
	return andon.Unavailable, "Cassandra refuses"
}

// lacked matches what Cassandra says of a right that a user lacks.
var lacked = regexp.MustCompile(
	`User (\S+) has no (\w+) permission on <(?:table|keyspace) (\w+)`)

// grantOf returns the statement that gives the right; "" where it is not known.
func grantOf(message string) string {
	m := lacked.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	return fmt.Sprintf(` (have an administrator run: GRANT %s ON KEYSPACE %s TO "%s")`, m[2], m[3],
		m[1])
}

// IsMissing reports whether a keyspace, a table or a column is not there.
func IsMissing(err error) bool {
	text := err.Error()
	return strings.Contains(text, "unconfigured table") ||
		strings.Contains(text, "does not exist") || strings.Contains(text, "Undefined column")
}
