package ddb

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/andonhq/andon"
)

// denied is the code of an error of credentials that are known, and lack a right.
const denied = "AccessDeniedException"

// unknown is the code that the SDK gives an error whose code it did not find.
const unknown = "UnknownError"

// ErrRaced means that the condition of a put did not hold: another writer was faster.
var ErrRaced = errors.New("another writer was faster")

// Failure turns an error of the SDK into one of Andon, which says what a caller can do about it.
// Errors of Andon and of the context pass through. table may be any other name of what was called.
func Failure(doing, table string, err error) error {
	var own *andon.Error
	var api smithy.APIError
	var name *net.DNSError
	var answer *smithyhttp.ResponseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, new(*types.ConditionalCheckFailedException)):
		return ErrRaced
	case errors.As(err, &api) && strings.Contains(api.ErrorMessage(), "maximum allowed size"):
		return andon.Errorf(andon.Invalid, "%s %s: the item would be larger than the 400 KB that "+
			"DynamoDB takes: shorten what is sent, or what other programs keep in this item",
			doing, table)
	case errors.Is(err, context.DeadlineExceeded):
		return andon.Errorf(andon.Unavailable, "%s %s: DynamoDB did not answer in time: %w",
			doing, table, err)
	case errors.As(err, &answer) && answer.HTTPStatusCode() != 0 && // 0: there was none
		(api == nil || api.ErrorCode() == unknown):
		return andon.Errorf(andon.Unavailable, "%s %s: the answer, of HTTP status %d, is not one "+
			"of DynamoDB: check dynamodb.endpoint, and proxies on the way there", doing, table,
			answer.HTTPStatusCode())
	case errors.As(err, &api):
		kind, words := meaning(api.ErrorCode())
		return andon.Errorf(kind, "%s %s: %s: %s", doing, table, words, api.ErrorMessage())
	case errors.As(err, &name) && name.IsNotFound:
		return andon.Errorf(andon.Unavailable, "%s %s: there is no host %s: correct "+
			"dynamodb.region (or AWS_REGION) or dynamodb.endpoint, unless this machine can't look "+
			"up any name", doing, table, name.Name)
	}
	return andon.Errorf(andon.Unavailable, "%s %s: DynamoDB can't be reached: check "+
		"dynamodb.endpoint, dynamodb.region and the network: %w", doing, table, err)
}

func meaning(code string) (andon.Kind, string) {
	switch code {
	case "ResourceNotFoundException":
		return andon.Unavailable, "the table or an index is missing: run `andon store init`, or " +
			"correct dynamodb.prefix and dynamodb.region"
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded",
		"ThrottledException":
		return andon.Busy, "DynamoDB throttles: raise the capacity of the table, or the shards " +
			"of a hot device"
	case "ItemCollectionSizeLimitExceededException":
		return andon.Internal, "a local index is full: the table is not one of Andon's"
	case denied:
		return andon.Unavailable, "the credentials lack a right: give it to their role or user"
	case "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException",
		"MissingAuthenticationTokenException", "IncompleteSignatureException":
		return andon.Unavailable, "the credentials are refused: check them, the clock, and that " +
			"the account uses dynamodb.region"
	case "ValidationException":
		return andon.Internal, "DynamoDB refuses the call (a key of the table may differ: run " +
			"`andon store init --dry-run`)"
	}
	return andon.Unavailable, "DynamoDB failed (" + code + ")"
}
