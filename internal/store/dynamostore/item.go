package dynamostore

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
)

// item is one item, or its key.
type item map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number[N ~int | ~int32 | ~int64 | ~uint64](n N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// keyed is the key of an item of a table with a sort key.
func keyed(k keys, hash, sort string) item {
	if k.sort == "" {
		return item{k.hash: text(hash)}
	}
	return item{k.hash: text(hash), k.sort: text(sort)}
}

// setText sets what is not empty: an empty string can't be a key, and an absent one costs nothing.
func (i item) setText(name, value string) {
	if value != "" {
		i[name] = text(value)
	}
}

// text returns a string; "" where it is absent.
func (i item) text(name string) string {
	if s, ok := i[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// int returns a number; 0 where it is absent.
func (i item) int(name string) int64 {
	if n, ok := i[name].(*types.AttributeValueMemberN); ok {
		value, _ := strconv.ParseInt(n.Value, 10, 64)
		return value
	}
	return 0
}

func (i item) time(name string) andon.Time { return andon.Time(i.int(name)) }
