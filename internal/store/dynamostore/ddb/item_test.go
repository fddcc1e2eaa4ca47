package ddb

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestSizes: the sizes of attributes are those that the service documents.
func TestSizes(t *testing.T) {
	number := func(text string) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: text}
	}
	for _, c := range []struct {
		value types.AttributeValue
		want  int
	}{
		{Text(""), 0}, {Text("a"), 1}, {Text("é"), 2}, {number("0"), 1}, {number("1"), 2},
		{number("12"), 2}, {number("123"), 3}, {number("1200"), 2}, {number("-12"), 3},
		{number("21.57"), 3}, {number("0.001"), 2}, {number("1e-130"), 2},
		{&types.AttributeValueMemberM{Value: Item{}}, 3},
		{&types.AttributeValueMemberM{Value: Item{"ab": number("12")}}, 3 + 1 + 2 + 2},
	} {
		if got := valueBytes(c.value); got != c.want {
			t.Errorf("%+v has %d bytes, want %d", c.value, got, c.want)
		}
	}
}
