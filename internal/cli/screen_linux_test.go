package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/andonhq/andon/internal/cli/draw"
)

// What a terminal is sent, as ECMA-48 and xterm have it.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
)

// terminal is a pseudo-terminal, of which a test holds the person's end.
type terminal struct {
	person, program *os.File
}

func openTerminal(t *testing.T, width, height uint16) *terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there is no pseudo-terminal to be had: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	var locked, number int32
	control(t, person, syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	control(t, person, syscall.TIOCGPTN, unsafe.Pointer(&number))
	name := fmt.Sprintf("/dev/pts/%d", number)
	program, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there is no pseudo-terminal to be had: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	pty := &terminal{person, program}
	pty.resize(t, width, height)
	return pty
}

func control(t *testing.T, f *os.File, request uintptr, value unsafe.Pointer) {
	t.Helper()
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(value))
	if errno != 0 {
		t.Skipf("there is no pseudo-terminal to be had: %v", errno)
	}
}

func (tt *terminal) resize(t *testing.T, width, height uint16) {
	t.Helper()
	size := [4]uint16{height, width, 0, 0}
	control(t, tt.person, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

// read reads what is written to the terminal until it ends in what is wanted, or the program ends.
func (tt *terminal) read(wanted *regexp.Regexp) string {
	var all bytes.Buffer
	part := make([]byte, 64<<10)
	for wanted == nil || !wanted.Match(all.Bytes()) {
		n, err := tt.person.Read(part)
		if err != nil {
			break
		}
		all.Write(part[:n])
	}
	return all.String()
}

// start starts the program with the terminal as its own.
func (tt *terminal) start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // then reading ends, too
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "andon", args...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "TMPDIR="+t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tt.program, tt.program, tt.program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tt.program.Close() // so that reading ends with the program
	return cmd
}

var steering = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// widest returns the columns of the widest line of some pictures.
func widest(picture string) (most int) {
	picture = strings.ReplaceAll(picture, toTop, "\n")
	for line := range strings.SplitSeq(steering.ReplaceAllString(picture, ""), "\n") {
		most = max(most, draw.ColumnsOf(strings.Trim(line, "\r")))
	}
	return most
}

// TestLiveTableOnTerminal runs demo and watch on a pseudo-terminal: the table is drawn in place and
// in the terminal's size, and Ctrl-C gives the terminal back as it was.
func TestLiveTableOnTerminal(t *testing.T) {
	pty := openTerminal(t, 100, 30)
	demo := pty.start(t, "demo", "--devices", "50", "--listen", "127.0.0.1:0")
	picture := regexp.MustCompile(`(?s)\x1b\[H.*\x1b\[J`)
	begun := pty.read(picture)
	before, table, _ := strings.Cut(begun, enterScreen)
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(before)
	if !strings.HasPrefix(begun, "Andon answers at ") || strings.Contains(before, "\x1b[H") ||
		widest(table) > 100 || !strings.Contains(table, "\x1b[42;30m● NORMAL") {
		t.Errorf("it began with %q", begun)
	}
	watchOnTerminal(t, address)

	pty.resize(t, 40, 12)
	pty.read(picture) // may have been drawn before
	if small := pty.read(picture); widest(small) > 40 || strings.Count(small, "\n") > 11 {
		t.Errorf("on a smaller terminal it draws %q", small)
	}
	if _, err := pty.person.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	rest := pty.read(nil)
	if err := demo.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	_, said, left := strings.Cut(rest, leaveScreen)
	if !left || strings.Contains(said, "\x1b") || !strings.HasPrefix(said, "Andon has stopped. ") ||
		!strings.HasSuffix(said, "andon serve --data DIRECTORY\r\n") {
		t.Errorf("it ended with %q", rest)
	}
}

// watchOnTerminal runs watch beside the demo: what is pressed is not shown, filters, scrolls and
// ends it, and the keyboard is as it was before.
func watchOnTerminal(t *testing.T, url string) {
	t.Helper()
	pty := openTerminal(t, 70, 20)
	before := pty.settings(t)
	watch := pty.start(t, "watch", "--url", url, "--every", "100ms")
	all := pty.read(regexp.MustCompile(`50 devices, live\.`))
	for _, press := range []struct{ keys, shows string }{
		{"/zzzz", `filter: zzzz_.*None has this`}, {"\r", `filter: zzzz  / changes it`},
		{"\x1b", `q ends, / filters`}, {"/-0q", `filter: -0q_`}, {"\x7f\r", `filter: -0  /`},
		{"\x1b[B", `1 above`}, {"\x1b[A\x1bOB\x1b[6~", `\d+ above`},
	} {
		if _, err := pty.person.WriteString(press.keys); err != nil {
			t.Fatal(err)
		}
		all += pty.read(regexp.MustCompile(`(?s)\x1b\[H.*` + press.shows))
	}
	if _, err := pty.person.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	pty.program.Close()
	all += pty.read(nil)
	if err := watch.Wait(); err != nil {
		t.Errorf("watch ended with %v", err)
	}
	drawn, said, _ := strings.Cut(all, leaveScreen)
	if !strings.HasPrefix(all, enterScreen) || widest(drawn) > 70 ||
		!regexp.MustCompile(`^Watched for .*s\.\r\n$`).MatchString(said) {
		t.Errorf("watch drew %q", all)
	}
	if after := pty.settings(t); after != before {
		t.Errorf("the keyboard is left as %v, was %v", after, before)
	}
}

// settings are how the terminal treats what is typed.
func (tt *terminal) settings(t *testing.T) (s [60]byte) {
	t.Helper()
	control(t, tt.person, syscall.TCGETS, unsafe.Pointer(&s))
	return s
}
