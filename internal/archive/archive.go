// Package archive keeps the entries and readings of each day as Parquet files, in a directory or a
// bucket, from before they expire. People query the files with Athena or DuckDB, as folders, and
// what they hold can be imported again.
//
// Each entry is in the files of its day exactly once, whatever was interrupted. These rules see to
// that:
//
//   - A day of a tenant and kind has a manifest, which names its files with their sums. It is
//     replaced by compare-and-swap, and one process at a time works on an archive (package lease).
//   - A file is announced in the manifest before it appears. Then it appears whole, at once. So a
//     process that was killed leaves an announced file, which is there or is not.
//   - A file holds only what no other file of its day holds, and is never changed. What the store
//     has with another content later, or no more, stays as it was archived.
//
// It is the only package that imports parquet-go and the SDK's S3. It must not know what an engine
// is, nor how often it is called.
package archive

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
)

// Kind is what a file holds.
type Kind string

// The kinds.
const (
	Events   Kind = "events"
	Readings Kind = "readings"
)

// Kinds are all of them.
var Kinds = []string{string(Events), string(Readings)}

// Config is an archive as it is set up.
type Config struct {
	Name     string
	To       string // a directory, or s3://BUCKET or s3://BUCKET/PREFIX
	Endpoint string // URL of a server that is not AWS; "" for AWS
	Region   string // "": that of the environment
	Tenants  []string
	Kinds    []string
	After    time.Duration // a day is archived once it ended so long ago
	Every    time.Duration // how often it is looked whether there is something to archive
}

// Group lists the settings of an archive, with their defaults.
func Group(c *Config) config.Group {
	*c = Config{After: 24 * time.Hour, Every: 6 * time.Hour}
	return config.Group{
		Settings: []config.Setting{
			{Key: "name", Value: config.Given(&c.Name), Help: "name of the archive"},
			{Key: "to", Value: config.Given(&c.To),
				Help: "directory, or s3://BUCKET/PREFIX, that it is kept in"},
			{Key: "endpoint", Value: config.Text(&c.Endpoint),
				Help: "URL of an S3-compatible server; none for AWS"},
			{Key: "region", Value: config.Text(&c.Region),
				Help: "AWS region of the bucket; unless set, that of the environment"},
			{Key: "tenants", Value: config.List(&c.Tenants),
				Help: "only these tenants; none named: all"},
			{Key: "kinds", Value: config.List(&c.Kinds), Help: "events, readings, or both"},
			{Key: "after", Value: config.Span(&c.After, 0),
				Help: "how long after its end a day is archived; earlier if it expires before"},
			{Key: "every", Value: config.Span(&c.Every, time.Second),
				Help: "how often the days that are due are archived"},
		},
		Check: c.check,
	}
}

func (c *Config) check(is *config.Check) {
	r := andon.Record{Kind: "archive", ID: c.Name, Data: "{}"}
	if err := r.Validate(); err != nil {
		is.Wrong("name", "can't be %q: name the archive with letters and digits", c.Name)
	}
	for _, kind := range c.Kinds {
		if !slices.Contains(Kinds, kind) {
			is.Wrong("kinds", "has %q, which is none of %s", kind, strings.Join(Kinds, ", "))
		}
	}
	if c.To == "" {
		is.Wrong("to", "is missing: name a directory, or s3://BUCKET/PREFIX")
	}
	if bucket, _, isS3 := c.bucket(); isS3 && bucket == "" {
		is.Wrong("to", "%q names no bucket", c.To)
	} else if !isS3 && c.Endpoint+c.Region != "" {
		is.Wrong("to", "%q is a directory, so there is neither endpoint nor region", c.To)
	}
}

// bucket returns the bucket and the prefix of its keys, without a slash at its end.
func (c *Config) bucket() (bucket, prefix string, isS3 bool) {
	place, isS3 := strings.CutPrefix(c.To, "s3://")
	bucket, prefix, _ = strings.Cut(place, "/")
	return bucket, strings.Trim(prefix, "/"), isS3
}

func (c *Config) covers(tenant andon.TenantID, kind Kind) bool {
	return (len(c.Tenants) == 0 || slices.Contains(c.Tenants, string(tenant))) &&
		(len(c.Kinds) == 0 || slices.Contains(c.Kinds, string(kind)))
}

// Archive is an archive and the store that it is of. Its methods are called one at a time.
type Archive struct {
	Config
	Store andon.Store // exact about retention; nil for what only reads the archive
	Now   func() andon.Time
	// Progress is told how many of the days that are looked at are done.
	Progress func(done, total int)

	place  place
	most   int64 // bytes of a part, about
	unread bool  // the place could not be read in this run
}

// Open opens the place of an archive. It need not be there yet.
func Open(ctx context.Context, a Archive) (*Archive, error) {
	a.most = partBytes
	if _, _, isS3 := a.bucket(); isS3 {
		var err error
		a.place, err = newBucket(ctx, a.Config)
		return &a, err
	}
	a.place = directory(filepath.Clean(a.To))
	return &a, nil
}
