package doctor

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/store/adapter"
)

func (d *doctor) examineMachine(c app.Config) {
	if c.Place() == adapter.Directory {
		d.examineDisk(c)
	}
	m := local.ReadMachine()
	built, _ := time.Parse(time.RFC3339, d.Version.Time) // a build may have none
	d.report.add(clock(d.Now().Std(), built, m.Synced)...)
	d.report.add(limits(m.Files)...)
	d.report.add(judge("machine", "processors", fmt.Sprint(runtime.GOMAXPROCS(0)), "GOMAXPROCS"))
	d.report.add(memory(m, c)...)
}

func (d *doctor) examineDisk(c app.Config) {
	disk, err := app.LookAtDisk(c.Data)
	if err != nil {
		disk, err = app.LookAtDisk(existing(c.Data))
	}
	switch {
	case err != nil:
		d.report.fail("disk", "space", err.Error(), "",
			"The store's directory has to be on a disk that can be read.")
	case disk.Unsupported:
		return
	default:
		d.report.add(diskFindings(disk, uint64(c.Takes().Reserve.Bytes), c.Data)...)
	}
	took, err := syncTime(existing(filepath.Join(c.Data, "x")))
	d.report.add(syncFinding(took, err))
}

// existing returns the nearest directory above path that exists.
func existing(path string) string {
	for {
		path = filepath.Dir(path)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		if path == filepath.Dir(path) {
			return path
		}
	}
}

func diskFindings(disk app.Disk, reserve uint64, dir string) []finding {
	source := "statfs of " + dir
	found := []finding{spaceFinding(disk.Free, disk.Size, reserve, source)}
	if disk.Files > 0 && disk.FreeFiles < max(1000, disk.Files/100) {
		found = append(found, judge("disk", "files", fmt.Sprintf("the file system can hold %d "+
			"more files, of %d", disk.FreeFiles, disk.Files), source, problem{true, warning,
			"Find what makes so many files (df -i), or move the store to a disk of its own."}))
	}
	kind := disk.Type
	switch {
	case disk.Network:
		kind += ": the files are, or may be, on another machine"
	case disk.Passing != "":
		kind += ": " + disk.Passing
	case kind == "":
		return found
	}
	return append(found, judge("disk", "kind", kind, source,
		problem{disk.Network, warning, "The store needs local locks and an fsync that waits for " +
			"the disk: put its directory onto a local disk."},
		problem{disk.Passing != "", warning, "Put the store onto a disk that is kept; for a " +
			"container, mount a volume."}))
}

func spaceFinding(free, size, reserve uint64, source string) finding {
	return judge("disk", "space", fmt.Sprintf("%s free of %s, %s in reserve",
		draw.Bytes(free), draw.Bytes(size), draw.Bytes(reserve)), source,
		problem{free < reserve, failed, "Writes are refused with 507 until there is space: free " +
			"some on that disk, or shorten the retention (andon tenant set)."},
		problem{free < 4*reserve || free < size/10, warning,
			"Make space before it is needed: below the reserve writes are refused with 507."})
}

// syncTime measures how long an fsync of a few bytes takes: the median of some.
func syncTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".andon-doctor-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is small
	defer f.Close()
	const times = 21
	took := make([]time.Duration, times)
	for i := range took {
		begun := time.Now()
		if _, err := f.WriteString("Andon measures how long this takes.\n"); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[times/2], nil
}

func syncFinding(took time.Duration, err error) finding {
	const slow = 20 * time.Millisecond
	found := took.Round(10 * time.Microsecond).String()
	if err != nil {
		found = err.Error()
	}
	return judge("disk", "fsync", found, "21 small writes, the median",
		problem{err != nil, failed,
			"The server could not write either: check the disk and the owner of the directory."},
		problem{took > slow, warning, "Every write waits this long. Larger batches and more of " +
			"them concurrently help; a solid-state disk needs less than 5 ms."})
}

// clock judges the time: entries far ahead of it are rejected, and retention uses it.
func clock(is, built time.Time, synced *bool) []finding {
	early, now := is.Before(built), is.UTC().Format(time.RFC3339)
	if early {
		now += ", before this program was built (" + built.UTC().Format(time.DateOnly) + ")"
	}
	found := []finding{judge("clock", "time", now, "the clock of this machine", problem{early,
		failed, "Set the clock. Current entries would be rejected as being in the future."})}
	if synced == nil {
		return found
	}
	text := "yes"
	if !*synced {
		text = "no, as the kernel says"
	}
	return append(found, judge("clock", "synchronised", text, "adjtimex", problem{!*synced,
		warning, "Run chrony or systemd-timesyncd, for a container on its host. Some hosts set " +
			"the clock without telling the kernel; then ignore this."}))
}

// limits judges how many files this process may have open.
func limits(files uint64) []finding {
	if files == 0 {
		return nil
	}
	text := fmt.Sprintf("at most %d", files)
	if files > math.MaxInt64/2 {
		text = "unlimited"
	}
	// The store has up to 1,000 files open, and each client is one.
	const few, tooFew = 8192, 1100
	const advice = "Raise it: ulimit -n 65536, or LimitNOFILE=65536 in the unit. " +
		"The limit of a service may differ from that of this shell."
	return []finding{judge("limits", "open files", text, "getrlimit of this process",
		problem{files < tooFew, failed, advice}, problem{files < few, warning, advice})}
}

// memory judges the memory that the settings allow the program to take. The current states of the
// fleet come on top, a few hundred bytes a device.
func memory(m local.Machine, c app.Config) []finding {
	if m.Memory == 0 {
		return nil
	}
	const writing = 3 * 64 << 20 // memtables that are filled or flushed
	takes := c.Takes()
	need := uint64(c.Limits.Memory) + writing + uint64(takes.Cache.Bytes+takes.Newest.Bytes)
	lower := "limits.memory"
	if takes.Cache.Key != "" {
		lower += ", " + takes.Cache.Key + " or " + takes.Newest.Key
	}
	return []finding{judge("machine", "memory", fmt.Sprintf("%s, of which %s may be taken "+
		"besides the fleet", draw.Bytes(m.Memory), draw.Bytes(need)), m.MemorySource,
		problem{need > m.Memory/4*3, warning, "Lower " + lower + ", or give it more memory: the " +
			"kernel ends a process that takes too much."})}
}
