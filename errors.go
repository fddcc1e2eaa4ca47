package andon

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Kind says what sort of error it is: what a caller can do about it. One table in each transport
// maps kinds to its own codes (HTTP status, exit code).
type Kind uint8

// The kinds of error.
const (
	Internal    Kind = iota // a defect of Andon
	Invalid                 // what was asked is wrong and will be wrong again
	NotFound                // the thing named is not there
	Conflict                // it can't be done to this thing in its present state
	TooLarge                // more than a limit allows
	Busy                    // the queue is full: try again in a moment
	Unsupported             // this store can't serve this query (see Capabilities)
	Unavailable             // the store can't be reached: try again later
	Full                    // no space left on the store
	Damaged                 // what is stored can't be read: the rest of the store can
	Gone                    // it is no longer kept: start again with what there is now
)

var kindNames = [...]string{
	"internal", "invalid", "not found", "conflict", "too large",
	"busy", "unsupported", "unavailable", "full", "damaged", "gone",
}

// String returns the kind's name in words.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is an error with a kind, and with the fields at fault where there are any.
type Error struct {
	Kind    Kind
	Message string
	Fields  []FieldError
	cause   error
}

// FieldError names one field at fault and what is wrong with it.
type FieldError struct {
	Location string `json:"location"` // "body.device", "query.limit", "path.time"
	Message  string `json:"message"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what Errorf wrapped with %w, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an error of a kind. A %w in the format wraps as in fmt.Errorf.
func Errorf(k Kind, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Kind: k, Message: wrapped.Error(), cause: errors.Unwrap(wrapped)}
}

// AtField makes an Invalid error about one field.
func AtField(location, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{
		Kind: Invalid, Message: message,
		Fields: []FieldError{{Location: location, Message: message}},
	}
}

// NoTenant is what a store says of a tenant that is not there.
func NoTenant(id TenantID) *Error { return Errorf(NotFound, "there is no tenant %q", id) }

// NoDevice is what a store says of a device that shows nothing.
func NoDevice(id DeviceID) *Error {
	return Errorf(NotFound, "device %q was never seen, or is retired", id)
}

// NoEntry is what a store says of an entry that is not there.
func NoEntry(device DeviceID, at Time, state State) *Error {
	return Errorf(NotFound, "device %q has no entry %s at %s", device, state, at)
}

// KindOf returns the kind of the outermost Error that err wraps. An error of the context is
// Unavailable: no one waits for its answer any more. Any other error is Internal.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Unavailable
	}
	return Internal
}

// Ignore returns nil for an error of one of some kinds, else err.
func Ignore(err error, kinds ...Kind) error {
	if err != nil && slices.Contains(kinds, KindOf(err)) {
		return nil
	}
	return err
}
