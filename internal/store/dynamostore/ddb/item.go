package ddb

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
)

// Item is one item, or its key.
type Item map[string]types.AttributeValue

// Text returns a string attribute.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number returns an integer attribute.
func Number[N ~int | ~int32 | ~int64 | ~uint64](n N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// SetText sets an attribute unless it is empty: an empty string can't be a key, and an absent one
// costs nothing.
func (i Item) SetText(name, value string) {
	if value != "" {
		i[name] = Text(value)
	}
}

// Text returns a string attribute; "" where it is absent.
func (i Item) Text(name string) string {
	if s, ok := i[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// Int returns an integer attribute; 0 where it is absent.
func (i Item) Int(name string) int64 {
	if n, ok := i[name].(*types.AttributeValueMemberN); ok {
		value, _ := strconv.ParseInt(n.Value, 10, 64)
		return value
	}
	return 0
}

// Binary returns a binary attribute.
func Binary(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// Binary returns a binary attribute; nil where it is absent.
func (i Item) Binary(name string) []byte {
	if b, ok := i[name].(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}

// Time returns a time in µs; 0 where it is absent.
func (i Item) Time(name string) andon.Time { return andon.Time(i.Int(name)) }

// SetMetrics sets a map of numbers.
func (i Item) SetMetrics(name string, metrics andon.Metrics) {
	m := Item{}
	m.SetNumbers(metrics)
	i[name] = &types.AttributeValueMemberM{Value: m}
}

// SetNumbers sets an attribute for each metric.
func (i Item) SetNumbers(metrics andon.Metrics) {
	for _, x := range metrics {
		value := strconv.FormatFloat(x.Value, 'g', -1, 64)
		i[string(x.Name)] = &types.AttributeValueMemberN{Value: value}
	}
}

// Metrics returns a map of numbers, sorted by name; none where it is absent.
func (i Item) Metrics(name string) (all andon.Metrics, err error) {
	m, _ := i[name].(*types.AttributeValueMemberM)
	if m == nil {
		return nil, nil
	}
	return Item(m.Value).Numbers()
}

// Numbers returns the attributes that are numbers, sorted by name.
func (i Item) Numbers() (all andon.Metrics, err error) {
	for name, value := range i {
		n, _ := value.(*types.AttributeValueMemberN)
		if n == nil {
			continue
		}
		x, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			return nil, andon.Errorf(andon.Damaged, "metric %q is %q", name, n.Value)
		}
		all = append(all, andon.Metric{Name: andon.MetricName(name), Value: x})
	}
	return all.Sorted()
}

// Bytes returns the size of an item as the service counts it: its names and values.
func (i Item) Bytes() (size int) {
	for name, value := range i {
		size += len(name) + valueBytes(value)
	}
	return size
}

func valueBytes(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberBytes(v.Value)
	case *types.AttributeValueMemberM: // 3 bytes, and one for each of its elements
		return 3 + len(v.Value) + Item(v.Value).Bytes()
	}
	return 1
}

// numberBytes returns a byte for two significant digits, one more, and one for a sign.
func numberBytes(text string) int {
	digits, negative := strings.CutPrefix(text, "-")
	digits, _, _ = strings.Cut(strings.ToLower(digits), "e")
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(digits, "0")
	}
	digits = strings.Trim(strings.Replace(digits, ".", "", 1), "0")
	size := (len(digits)+1)/2 + 1
	if negative {
		size++
	}
	return size
}
