package provision

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
)

// Options are what a keyspace is opened, or made, with.
type Options struct {
	cql.Options
	// Latest is the design that devices are found by state with; the keyspace's own unless set.
	Latest string
	// Buckets are how many partitions a state has under the design "buckets"; the keyspace's own
	// unless set.
	Buckets string
	// Settle is how long after a change a device is reviewed, when everything that was written
	// concurrently with the change has landed; the keyspace's own unless set, and 30 seconds when
	// one is made. Half of it is how long an append to a device may take before it is given up. All
	// processes must have the same: index rows are deleted once no process can have missed the
	// change.
	Settle time.Duration
}

const defaultSettle = 30 * time.Second

// Settings are what all processes of a keyspace agree on.
type Settings struct {
	Schema    int             `json:"schema"`
	Retention andon.Retention `json:"retention"` // of events; the longest that a tenant may have
	Readings  andon.Retention `json:"readings_retention"`
	Settle    andon.Duration  `json:"settle"` // see Options
	Latest    designs.Layout  `json:"latest"` // that lists are read from
	// Next is the layout that a rebuild makes. Writers write both.
	Next *designs.Layout `json:"next,omitempty"`
}

// SchemaVersion is the version of what is stored: the tables, and what their values mean.
const SchemaVersion = 1

// Known reports that a keyspace has another version than this program reads and writes.
func (s *Settings) Known(keyspace string) error {
	if s.Schema == SchemaVersion {
		return nil
	}
	return andon.Errorf(andon.Conflict, "keyspace %s has schema %d, and this Andon knows schema "+
		"%d: use the Andon that made it", keyspace, s.Schema, SchemaVersion)
}

// Window is how many days the entries of one SSTable are of at most: some thirty SSTables hold what
// is kept, which is what Cassandra's authors advise.
func (s *Settings) Window() int {
	days := 30 * 30
	if s.Retention != andon.Forever {
		days = int(andon.Duration(s.Retention).Std().Hours() / 24)
	}
	return min(max(days/30, 1), 30)
}

// agrees reports an option that differs from the settings: all processes of a keyspace must have
// the same.
func (s *Settings) agrees(o Options) error {
	const how = "leave the setting out to take what is there, or change what is there with " +
		"`andon store rebuild latest`"
	if err := s.Known(o.Keyspace); err != nil {
		return err
	}
	if o.Latest != "" && o.Latest != s.Latest.Design {
		return andon.Errorf(andon.Invalid, "cassandra.latest is %s, and keyspace %s has %s: %s",
			o.Latest, o.Keyspace, s.Latest.Design, how)
	}
	asked, err := designs.ParseBuckets(o.Buckets)
	if err != nil {
		return err
	}
	has, err := designs.ParseBuckets(s.Latest.Buckets)
	if err != nil {
		return err
	}
	if o.Buckets != "" && s.Latest.Design == "buckets" && !asked.Equal(has) {
		return andon.Errorf(andon.Invalid, "cassandra.buckets is %s, and keyspace %s has %s: %s",
			o.Buckets, o.Keyspace, s.Latest.Buckets, how)
	}
	if o.Settle != 0 && o.Settle != s.Settle.Std() {
		return andon.Errorf(andon.Invalid, "cassandra.settle is %s, and keyspace %s has %s, which "+
			"was chosen when it was made: leave the setting out to take what is there",
			andon.DurationOf(o.Settle), o.Keyspace, s.Settle)
	}
	return nil
}

// ReadSettings reads the settings of a keyspace, and their text; "" where there are none yet.
func ReadSettings(
	ctx context.Context, s *cql.Session, keyspace string,
) (stored Settings, text string, err error) {
	// It does not wait for other statements, so that a busy store is still ready.
	found, err := s.OneAt(ctx, s.Reads(),
		"SELECT value FROM "+keyspace+".settings WHERE name = 'andon'", nil, &text)
	if err != nil && !cql.IsMissing(err) {
		return stored, "", cql.Failure("read the settings of the keyspace", err)
	}
	if !found {
		return stored, "", nil
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return stored, "", andon.Errorf(andon.Internal,
			"the settings of keyspace %s are damaged: %w", keyspace, err)
	}
	return stored, text, nil
}

// SwapSettings writes settings over those that were read.
func SwapSettings(ctx context.Context, s *cql.Session, keyspace, was, is string) error {
	text := "UPDATE " + keyspace + ".settings SET value = ? WHERE name = 'andon' IF value = ?"
	args := []any{is, was}
	if was == "" {
		text = "INSERT INTO " + keyspace + ".settings (name, value) VALUES ('andon', ?) " +
			"IF NOT EXISTS"
		args = args[:1]
	}
	applied, found, err := s.Swap(ctx, text, args...)
	if err != nil {
		return cql.Failure("write the settings of the keyspace", err)
	}
	if !applied && found["value"] != is {
		return andon.Errorf(andon.Conflict,
			"the settings of keyspace %s were changed meanwhile: try again", keyspace)
	}
	return nil
}

// Working is a process's own copy of the settings, with the designs that they name.
type Working struct {
	Settings
	Text   string           // as it is stored
	Reads  designs.Design   // of Latest
	Writes []designs.Design // of Latest and Next
}

// NewWorking returns the designs of settings.
func NewWorking(s Settings, text string) (*Working, error) {
	w := &Working{Settings: s, Text: text}
	d, err := designs.New(s.Latest)
	if err != nil {
		return nil, err
	}
	w.Reads, w.Writes = d, []designs.Design{d}
	if s.Next != nil {
		next, err := designs.New(*s.Next)
		if err != nil {
			return nil, err
		}
		w.Writes = append(w.Writes, next)
	}
	return w, nil
}

// Complete reports tables of the keyspace that are missing because somebody dropped them.
func (w *Working) Complete(ctx context.Context, s *cql.Session, keyspace string) error {
	there, err := s.Tables(ctx, keyspace)
	if err != nil {
		return err
	}
	all := Tables()
	for _, d := range w.Writes {
		all = append(all, d.Tables()...)
	}
	var gone []string
	for _, t := range all {
		if t.HoldsRows() && there[t.Name] == "" && !slices.Contains(gone, t.Name) {
			gone = append(gone, t.Name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return andon.Errorf(andon.Invalid, "keyspace %s lacks %s: run `andon store init`",
		keyspace, strings.Join(gone, ", "))
}
