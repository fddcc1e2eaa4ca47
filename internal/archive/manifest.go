package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// The folder of a day, tenant=T/kind=K/date=YYYY-MM-DD, has its parts, part-0001.parquet and so on,
// and _manifest.json. Who reads such folders leaves out names that begin with an underscore.

const (
	manifestName    = "_manifest.json"
	manifestVersion = 1
)

// day is a UTC day of what a tenant has of a kind. Its text is its folder.
type day struct {
	tenant andon.TenantID
	kind   Kind
	number uint32 // of days since 1970
}

func (d day) String() string {
	return fmt.Sprintf("%s/kind=%s/date=%s", folderOf(d.tenant), d.kind, d.date())
}

func folderOf(tenant andon.TenantID) string {
	return "tenant=" + strings.ReplaceAll(url.QueryEscape(string(tenant)), "+", "%20")
}

func (d day) date() string      { return d.start().Std().Format(time.DateOnly) }
func (d day) start() andon.Time { return andon.DayStart(d.number) }
func (d day) end() andon.Time   { return andon.DayStart(d.number + 1) }
func (d day) span() andon.Span  { return andon.Span{From: d.start(), To: d.end() - 1} }

// Manifest says what the archive has of a day. It is the truth: a file counts if it is in Files.
type Manifest struct {
	Version int            `json:"version"`
	Tenant  andon.TenantID `json:"tenant"`
	Kind    Kind           `json:"kind"`
	Date    string         `json:"date"`
	// Checked is when the day was last compared with all that the store has; absent: never.
	Checked andon.Time `json:"checked,omitzero"`
	Files   []File     `json:"files"`
	// Pending is a file that is being written. It counts once it is there with that sum.
	Pending *File `json:"pending,omitempty"`
}

// File is a part of a day.
type File struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

type folder struct {
	day
	place   place
	is      Manifest
	version string
	most    int64 // bytes of a part, about
}

func (f *folder) name(file string) string { return path.Join(f.String(), file) }

// look reads the manifest of a day. Where there is none it is empty.
func (a *Archive) look(ctx context.Context, d day) (*folder, error) {
	f := &folder{day: d, place: a.place, most: a.most}
	return f, f.read(ctx)
}

func (f *folder) read(ctx context.Context) error {
	f.version, f.is = "", Manifest{
		Version: manifestVersion, Tenant: f.tenant, Kind: f.kind, Date: f.date(), Files: []File{},
	}
	file, version, err := f.place.Open(ctx, f.name(manifestName))
	if andon.KindOf(err) == andon.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer discard(file)
	f.version = version
	var is Manifest
	err = json.NewDecoder(file).Decode(&is)
	switch {
	case err != nil:
	case is.Version != manifestVersion:
		err = fmt.Errorf("it has version %d, not %d", is.Version, manifestVersion)
	case is.Tenant != f.tenant || is.Kind != f.kind || is.Date != f.date() || is.Files == nil:
		err = fmt.Errorf("it is the manifest of tenant %q, %s, %s, and not of this day",
			is.Tenant, is.Kind, is.Date)
	}
	f.is = is
	if err != nil {
		return andon.Errorf(andon.Damaged, "read %s: %w", f.name(manifestName), err)
	}
	return nil
}

func (f *folder) save(ctx context.Context) error {
	temp, err := f.place.Temp()
	if err != nil {
		return err
	}
	defer discard(temp)
	text := json.NewEncoder(temp)
	text.SetIndent("", "  ")
	if err := text.Encode(f.is); err != nil {
		return err
	}
	version, err := f.place.Put(ctx, f.name(manifestName), temp, f.version)
	if err == nil {
		f.version = version
	}
	return err
}

// settle ends what an interrupted process has begun: its file counts if it is there.
func (f *folder) settle(ctx context.Context) error {
	pending := f.is.Pending
	if pending == nil {
		return nil
	}
	is, err := f.sum(ctx, pending.Name)
	switch {
	case andon.KindOf(err) == andon.NotFound: // it did not come so far
	case err != nil:
		return err
	case is != *pending:
		return andon.Errorf(andon.Conflict, "%s is not what the manifest announces: a process "+
			"that had lost its lease wrote it, or the manifest was lost; remove that file",
			f.name(pending.Name))
	default:
		f.is.Files = append(f.is.Files, is)
	}
	f.is.Pending = nil
	return f.save(ctx)
}

func (f *folder) sum(ctx context.Context, name string) (is File, err error) {
	file, _, err := f.place.Open(ctx, f.name(name))
	if err != nil {
		return is, err
	}
	defer discard(file)
	h := sha256.New()
	if is.Bytes, err = io.Copy(h, file); err != nil {
		return is, err
	}
	opened, err := openParquet(file, f.name(name))
	if err != nil {
		return is, err
	}
	is.Name, is.Rows, is.SHA256 = name, opened.NumRows(), hex.EncodeToString(h.Sum(nil))
	return is, nil
}

// commit makes a file that is written a part of the day: the manifest announces it, it appears, the
// manifest counts it.
func (f *folder) commit(ctx context.Context, about File, file *os.File) error {
	now := folder{day: f.day, place: f.place}
	if err := now.read(ctx); err != nil {
		return err
	}
	if now.names(about.Name) {
		return andon.Errorf(andon.Conflict, "%s is in %s already: another process wrote that "+
			"meanwhile", about.Name, f.name(manifestName))
	}
	f.is.Pending = &about
	if err := f.save(ctx); err != nil {
		return err
	}
	if _, err := f.place.Put(ctx, f.name(about.Name), file, ""); err != nil {
		return err
	}
	f.is.Files, f.is.Pending = append(f.is.Files, about), nil
	return f.save(ctx)
}

// names reports whether the manifest has a file, or announces it.
func (f *folder) names(file string) bool {
	return f.is.Pending != nil && f.is.Pending.Name == file ||
		slices.ContainsFunc(f.is.Files, func(one File) bool { return one.Name == file })
}

var folderForm = regexp.MustCompile(`^tenant=([^/]+)/kind=([a-z]+)/date=(\d{4}-\d\d-\d\d)$`)

// days are the days that there are folders of, by tenant, kind and date, and the names in each. It
// is NotFound that there are none.
func (a *Archive) days(
	ctx context.Context, s Selection,
) (days []day, names map[day][]string, err error) {
	below, names := "", map[day][]string{}
	nothing := "there is no archive"
	if s.Tenant != "" {
		below = folderOf(s.Tenant)
		nothing = fmt.Sprintf("there is nothing of tenant %q", s.Tenant)
	}
	first, last := uint32(math.MaxUint32), uint32(0)
	for name, err := range a.place.List(ctx, below) {
		if err != nil {
			return nil, nil, err
		}
		is := folderForm.FindStringSubmatch(path.Dir(name))
		if is == nil {
			continue
		}
		tenant, _ := url.PathUnescape(is[1])
		date, _ := time.Parse(time.DateOnly, is[3])
		d := day{andon.TenantID(tenant), Kind(is[2]), andon.TimeOf(date).Day()}
		if first, last = min(first, d.number), max(last, d.number); !s.includes(d) {
			continue
		}
		if names[d] == nil {
			days = append(days, d)
		}
		names[d] = append(names[d], path.Base(name))
	}
	switch {
	case first > last:
		err = andon.Errorf(andon.NotFound, "%s in %s", nothing, a.To)
	case days == nil:
		err = andon.Errorf(andon.NotFound, "there are no such days in %s: it has %s to %s", a.To,
			day{number: first}.date(), day{number: last}.date())
	}
	return days, names, err
}
