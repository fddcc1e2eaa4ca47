package test

import (
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/enginetest"
)

// recipe is a recipe of docs/notify.md: its blocks of text and what is written before each.
type recipe struct {
	*testing.T
	dir    string // in place of /etc/andon
	blocks [][3]string
	hosts  *strings.Replacer // what stands for the hosts of the page
	env    []string
}

// readRecipe reads the section of a title.
func readRecipe(t *testing.T, title string) *recipe {
	t.Helper()
	page, err := os.ReadFile("../docs/notify.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n## Recipe: "+title+"\n")
	if !ok {
		t.Fatalf("there is no recipe %q", title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	r := &recipe{T: t, dir: t.TempDir()}
	block := regexp.MustCompile("(?ms)(.*?)^   ```(\\w+)\n(.*?)^   ```\n")
	for _, m := range block.FindAllStringSubmatch(section, -1) {
		r.blocks = append(r.blocks, [3]string{m[1], m[2], m[3]})
	}
	return r
}

// follow does what the recipe says, step by step. All of it is done as it is written, but for hosts
// and directories. A server is started on a port of this test.
func (r *recipe) follow() (s *server) {
	r.Helper()
	named := regexp.MustCompile("`/etc/andon/(\\S+)`")
	here := strings.NewReplacer("/etc/andon", r.dir).Replace
	for _, b := range r.blocks {
		text := strings.ReplaceAll(b[2], "\n   ", "\n")
		text = here(r.hosts.Replace(strings.TrimPrefix(text, "   ")))
		switch file := named.FindStringSubmatch(b[0]); {
		case b[1] == "yaml":
			if file == nil {
				r.Fatalf("no file is named in %s", b[0])
			}
			err := os.WriteFile(filepath.Join(r.dir, file[1]), []byte(text), 0o600)
			if err != nil {
				r.Fatal(err)
			}
		case strings.HasPrefix(text, "andon serve "):
			args := strings.Fields(strings.TrimPrefix(text, "andon "))
			cmd := command(r.T, append(args, "--listen", "127.0.0.1:0", "--log-level", "warn",
				"--data", filepath.Join(r.dir, "data"))...)
			cmd.Env = append(cmd.Environ(), r.env...)
			s = startProgram(r.T, cmd)
		default:
			r.shell(text, s)
		}
	}
	return s
}

// shell has a shell do what is written, which must succeed.
func (r *recipe) shell(text string, s *server) {
	r.Helper()
	andon := command(r.T)
	bin := filepath.Join(r.dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		r.Fatal(err)
	}
	err := os.Symlink(andon.Path, filepath.Join(bin, "andon"))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		r.Fatal(err)
	}
	cmd := exec.CommandContext(r.Context(), "sh", "-ec", text)
	cmd.Env = append(andon.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	if s != nil {
		cmd.Env = append(cmd.Env, "ANDON_URL="+s.url)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatalf("%s: %v\n%s", text, err, out)
	}
}

// TestRecipeOfEmail follows the page, with an SMTP server that others wrote.
func TestRecipeOfEmail(t *testing.T) {
	python := enginetest.Python(t, notifyTools, requirementsOfNotify)
	r := readRecipe(t, "e-mail")
	address, ca, lines := serveMail(t, python, r.dir)
	r.hosts = strings.NewReplacer("mail.example.org:587", address)
	r.env = []string{"SSL_CERT_FILE=" + ca}
	r.follow()
	for _, want := range []string{"Andon: a test message", "Andon: press-7 WARNING2"} {
		if !lines.Scan() || !strings.Contains(lines.Text(), "Subject: "+want) ||
			!strings.Contains(lines.Text(), `"to": ["liz@example.org"]`) {
			t.Fatalf("want %s, got %s", want, lines.Text())
		}
	}
}

// TestRecipeOfSlack follows the page, with a server in place of Slack.
func TestRecipeOfSlack(t *testing.T) {
	posted := make(chan string, 10)
	slack := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posted <- r.URL.Path + " " + string(body)
		_, _ = io.WriteString(w, "ok")
	}))
	defer slack.Close()
	r := readRecipe(t, "Slack")
	ca := filepath.Join(r.dir, "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: slack.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	r.hosts = strings.NewReplacer("https://hooks.slack.com", slack.URL)
	r.env = []string{"SSL_CERT_FILE=" + ca}
	r.follow()
	for _, want := range []string{"Andon: a test message", "Andon: press-7 WARNING2"} {
		got := <-posted
		if !strings.HasPrefix(got, "/services/T0/B0/x {") || !strings.Contains(got, want) {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}

// calendarReader prints a calendar as a library reads it: each event by the clock of a zone.
const calendarReader = `
import sys, zoneinfo, icalendar
c = icalendar.Calendar.from_ical(sys.stdin.buffer.read())
zone = zoneinfo.ZoneInfo(c["X-WR-TIMEZONE"])
print(c["VERSION"], c["METHOD"], c["X-WR-CALNAME"])
seen = set()
for e in c.walk("VEVENT"):
    assert e["UID"] not in seen and e.errors == [], e
    seen.add(e["UID"])
    a, b = (e.decoded(k).astimezone(zone).isoformat() for k in ("DTSTART", "DTEND"))
    print(a, b, e["UID"].split("-")[1], e.get("SUMMARY"))
`

// readCalendar has a library that others wrote read a calendar.
func readCalendar(t *testing.T, python, text string) []string {
	t.Helper()
	read := exec.CommandContext(t.Context(), python, "-c", calendarReader)
	read.Stdin = strings.NewReader(text)
	out, err := read.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestCalendarIsRead: a library that others wrote reads the calendar that the program serves, and
// one that has a change of the clocks: hand-overs stay where they are on the clock on the wall.
func TestCalendarIsRead(t *testing.T) {
	python := enginetest.Python(t, notifyTools, requirementsOfNotify)
	s := startProgram(t, command(t, "serve", "--listen", "127.0.0.1:0", "--store", "memory"))
	for _, name := range []string{"Liz", "Tom"} {
		s.send(t, "PUT", "/api/v1/people/"+name, "application/json", "{}")
	}
	s.send(t, "PUT", "/api/v1/schedules/l,%203", "application/json", `{"zone":"Asia/Kolkata",
		"layers":[{"people":["Liz","Tom"],"from":"2026-01-01","turn":"1d","hand_over":"06:00"}]}`)
	_, text := s.fetch(t, "/api/v1/schedules/l,%203.ics")
	all := readCalendar(t, python, text)
	if all[0] != "2.0 PUBLISH On call: l, 3" || len(all) < 121 || len(all) > 123 {
		t.Fatalf("%d lines, the first %q", len(all), all[0])
	}
	before := ""
	for _, line := range all[1:] {
		f := strings.Fields(line)
		if !strings.HasSuffix(f[0], "T06:00:00+05:30") || f[3] != "Liz" && f[3] != "Tom" ||
			before != "" && before != f[0] {
			t.Errorf("after %s: %s", before, line)
		}
		before = f[1]
	}
	kept, err := os.ReadFile("../internal/httpapi/documents/testdata/calendar.ics")
	if err != nil {
		t.Fatal(err)
	}
	all = readCalendar(t, python, string(kept))
	read := strings.Join(all, "\n")
	for _, want := range []string{
		"2026-03-23T06:00:00+01:00 2026-03-27T22:00:00+01:00",
		"2026-03-30T06:00:00+02:00 2026-03-31T12:00:00+02:00",
	} {
		if !strings.Contains(read, want) {
			t.Errorf("without %s:\n%s", want, read)
		}
	}
}
