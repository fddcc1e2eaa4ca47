package ddb

// Table is one table as data: what creates, checks and prints it goes by this. All keys are
// strings.
type Table struct {
	Name    string
	What    string // what is in it, for templates
	Key     Keys
	TTL     string // attribute by which items expire, in epoch seconds; "" for none
	Indexes []Index
}

// Keys are the names of the attributes of a primary key. Sort is "" where there is none.
type Keys struct{ Hash, Sort string }

// Index is a global secondary index. An item is in it only where it has both keys.
type Index struct {
	Name     string
	What     string // what is in it, for templates
	Key      Keys
	Projects []string // attributes other than the keys; nil: keys only
	All      bool     // projects all attributes
}

// Item returns an item that has only its key.
func (k Keys) Item(hash, sort string) Item {
	if k.Sort == "" {
		return Item{k.Hash: Text(hash)}
	}
	return Item{k.Hash: Text(hash), k.Sort: Text(sort)}
}

// String returns a key as a person reads it.
func (k Keys) String() string {
	if k.Sort == "" {
		return "(" + k.Hash + ")"
	}
	return "(" + k.Hash + ", " + k.Sort + ")"
}
