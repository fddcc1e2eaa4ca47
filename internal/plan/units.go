package plan

import "math"

// A metered store counts what is written and read in units, item by item, by these rules of
// DynamoDB (Developer Guide, "Capacity unit consumption"; "Item sizes and formats"; "Provisioned
// throughput considerations for global secondary indexes"). A KB has 1,024 bytes.
const (
	writeUnit = 1 << 10
	readUnit  = 4 << 10
)

// Overhead is how many bytes each item, and each copy in an index, is stored with.
const Overhead = 100

// Consistency is how a read is paid for.
type Consistency float64

// The consistencies, by what one of 4 KB costs.
const (
	Eventual Consistency = 0.5
	Strong   Consistency = 1
)

// units rounds a size up. What is not there is paid for as the least that can be.
func units(bytes, size int) float64 {
	return max(1, math.Ceil(float64(bytes)/float64(size)))
}

// ReadUnits is what one item costs by its key, each item of a batch, or what a query or a page of a
// scan finds: the bytes of its items are added up.
func ReadUnits(bytes int, c Consistency) float64 { return units(bytes, readUnit) * float64(c) }
