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
	m.Now, m.Cpus = d.Now().Std(), runtime.GOMAXPROCS(0)
	if built, err := time.Parse(time.RFC3339, d.Version.Time); err == nil {
		m.Built = built
	}
	d.report.add(clock(m)...)
	d.report.add(limits(m)...)
	d.report.add(memory(m, c)...)
}

func (d *doctor) examineDisk(c app.Config) {
	disk, err := app.LookAtDisk(c.Data)
	if err != nil {
		disk, err = app.LookAtDisk(existing(c.Data))
	}
	switch {
	case err != nil:
		d.report.add(ok("disk", "space", err.Error(), "").worse(failed,
			"The store's directory has to be on a disk that can be read."))
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

// diskFindings judges space, number of files and kind of the file system.
func diskFindings(disk app.Disk, reserve uint64, dir string) []finding {
	source := "statfs of " + dir
	found := []finding{spaceFinding(disk.Free, disk.Size, reserve, source)}
	if disk.Files > 0 && disk.FreeFiles < max(1000, disk.Files/100) {
		found = append(found, ok("disk", "files", fmt.Sprintf("the file system can hold %d more "+
			"files, of %d", disk.FreeFiles, disk.Files), source).worse(warning, "Find what makes "+
			"so many files (df -i), or move the store to a disk of its own."))
	}
	kind := ok("disk", "kind", disk.Type, source)
	switch {
	case disk.Network:
		kind.Found += ": the files are, or may be, on another machine"
		kind = kind.worse(warning, "The store needs local locks and an fsync that waits for the "+
			"disk: put its directory onto a local disk.")
	case disk.Passing != "":
		kind.Found += ": " + disk.Passing
		kind = kind.worse(warning,
			"Put the store onto a disk that is kept; for a container, mount a volume.")
	case disk.Type == "":
		return found
	}
	return append(found, kind)
}

func spaceFinding(free, size, reserve uint64, source string) finding {
	f := ok("disk", "space", fmt.Sprintf("%s free of %s, %s in reserve",
		draw.Bytes(free), draw.Bytes(size), draw.Bytes(reserve)), source)
	switch {
	case free < reserve:
		return f.worse(failed, "Writes are refused with 507 until there is space: free some on "+
			"that disk, or shorten the retention (andon tenant set).")
	case free < 4*reserve, free < size/10:
		return f.worse(warning,
			"Make space before it is needed: below the reserve writes are refused with 507.")
	}
	return f
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
	f := ok("disk", "fsync", took.Round(10*time.Microsecond).String(),
		"21 small writes, the median")
	switch {
	case err != nil:
		f.Found = err.Error()
		return f.worse(failed,
			"The server could not write either: check the disk and the owner of the directory.")
	case took > slow:
		return f.worse(warning, "Every write waits this long. Larger batches and more of them "+
			"concurrently help; a solid-state disk needs less than 5 ms.")
	}
	return f
}

// clock judges the time: entries far ahead of it are rejected, and retention uses it.
func clock(m local.Machine) []finding {
	f := ok("clock", "time", m.Now.UTC().Format(time.RFC3339), "the clock of this machine")
	if m.Now.Before(m.Built) {
		f.Found += ", before this program was built (" + m.Built.UTC().Format(time.DateOnly) + ")"
		f = f.worse(failed,
			"Set the clock. Current entries would be rejected as being in the future.")
	}
	if m.Synced == nil {
		return []finding{f}
	}
	s := ok("clock", "synchronised", "yes", "adjtimex")
	if !*m.Synced {
		s.Found = "no, as the kernel says"
		s = s.worse(warning, "Run chrony or systemd-timesyncd, for a container on its host. Some "+
			"hosts set the clock without telling the kernel; then ignore this.")
	}
	return []finding{f, s}
}

func limits(m local.Machine) (found []finding) {
	const source = "getrlimit of this process"
	if m.Files > 0 {
		f := ok("limits", "open files", fmt.Sprintf("at most %d", m.Files), source)
		if m.Files > math.MaxInt64/2 {
			f.Found = "unlimited"
		}
		// The store has up to 1,000 files open, and each client is one.
		const few, tooFew = 8192, 1100
		if m.Files < few {
			f = f.worse(warning, "Raise it: ulimit -n 65536, or LimitNOFILE=65536 in the unit. "+
				"The limit of a service may differ from that of this shell.")
		}
		if m.Files < tooFew {
			f.Status = failed
		}
		found = append(found, f)
	}
	if m.FileSize > 0 && m.FileSize < math.MaxInt64 {
		found = append(found, ok("limits", "size of a file", "at most "+draw.Bytes(m.FileSize),
			source).worse(failed, "A process with a larger file is ended: ulimit -f unlimited."))
	}
	return found
}

// memory judges the memory that the settings allow the program to take. The current states of the
// fleet come on top, a few hundred bytes a device.
func memory(m local.Machine, c app.Config) []finding {
	found := []finding{ok("machine", "processors", fmt.Sprint(m.Cpus), "GOMAXPROCS")}
	if m.Memory == 0 {
		return found
	}
	const writing = 3 * 64 << 20 // memtables that are filled or flushed
	takes := c.Takes()
	need := uint64(c.Limits.Memory) + writing + uint64(takes.Cache.Bytes+takes.Newest.Bytes)
	f := ok("machine", "memory", fmt.Sprintf("%s, of which %s may be taken besides the fleet",
		draw.Bytes(m.Memory), draw.Bytes(need)), m.MemorySource)
	if need > m.Memory/4*3 {
		lower := "limits.memory"
		if takes.Cache.Key != "" {
			lower += ", " + takes.Cache.Key + " or " + takes.Newest.Key
		}
		f = f.worse(warning, "Lower "+lower+", or give it more memory: the kernel ends a process "+
			"that takes too much.")
	}
	return append(found, f)
}
