package rows

import (
	"encoding/json"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// Pending says that a device may show something that its feed does not have yet. It is written in
// the batch that changes the device, as JSON, at a timestamp that is later than those of all marks
// that this process has set on it. Once the feed has the change it is replaced by the byte 255 at
// the same timestamp, which is greater. So it ends itself, and not the one of a later delivery of
// another process.
type Pending struct {
	From  uint64           `json:"from"` // an earlier item of the feed can't have the change
	Kind  andon.ChangeKind `json:"kind"`
	Entry andon.EntryRef   `json:"entry"` // that made the change, if Kind is ByEntry
	Stamp int64            `json:"-"`
}

const pendingOver = 255

// Set returns the statement that marks a device; none for a nil Pending.
func (p *Pending) Set(tenant string, device andon.DeviceID) cql.Mutation {
	if p == nil {
		return nil
	}
	text, _ := json.Marshal(p) // which has nothing that JSON can't hold
	return cql.Mutation{SetLatest(tenant, device, "pending", p.Stamp, text)}
}

// End returns the statement that removes the mark; none for a nil Pending.
func (p *Pending) End(tenant string, device andon.DeviceID) cql.Mutation {
	if p == nil || p.Stamp == 0 {
		return nil
	}
	return cql.Mutation{SetLatest(tenant, device, "pending", p.Stamp, []byte{pendingOver})}
}

// UnpackPending decodes the mark of a device; nil where there is none.
func UnpackPending(b []byte, stamp int64) *Pending {
	p := &Pending{Stamp: stamp}
	if len(b) < 2 || json.Unmarshal(b, p) != nil {
		return nil
	}
	return p
}

// Logged is what the feed said of a device last: the number of its change, and what the device
// showed since. It is stored as JSON, with the number as write timestamp.
type Logged struct {
	Version int64         `json:"version"`
	Shown   *andon.Device `json:"shown,omitempty"` // nil: nothing
}

// Set returns the statement that stores what the feed said, unless it said more since.
func (l *Logged) Set(tenant string, device andon.DeviceID) (cql.Mutation, error) {
	text, err := json.Marshal(l)
	return cql.Mutation{SetLatest(tenant, device, "logged", l.Version, text)}, err
}

// UnpackLogged decodes what Set wrote; the zero value where nothing is stored.
func UnpackLogged(b []byte) (l Logged) {
	if json.Unmarshal(b, &l) != nil {
		return Logged{}
	}
	return l
}
