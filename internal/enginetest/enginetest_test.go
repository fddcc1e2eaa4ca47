package enginetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// asOwner makes this test binary start a process and wait until it is killed.
const asOwner = "TEST_BINARY_OWNS_A_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asOwner) != "" {
		ownProcess()
	}
	goleak.VerifyTestMain(Engines{M: m})
}

// verdict is what a test came to.
type verdict struct {
	testing.TB
	failed, skipped bool
	text            string
}

func (*verdict) Helper() {}

func (v *verdict) Fatalf(format string, args ...any) {
	v.failed, v.text = true, fmt.Sprintf(format, args...)
}

func (v *verdict) Skipf(format string, args ...any) {
	v.skipped, v.text = true, fmt.Sprintf(format, args...)
}

func TestNoEngine(t *testing.T) {
	for ci, want := range map[string]verdict{
		"":     {skipped: true, text: "no engine: no java"},
		"true": {failed: true, text: "CI is set, so no engine is a failure: no java"},
	} {
		t.Setenv("CI", ci)
		var got verdict
		if require(&got, errors.New("no java")); got != want {
			t.Errorf("with CI=%q the test has %+v, want %+v", ci, got, want)
		}
		var fine verdict
		if require(&fine, nil); fine != (verdict{}) {
			t.Errorf("with CI=%q and an engine the test has %+v", ci, fine)
		}
	}
}

func TestSearchJava(t *testing.T) {
	home := t.TempDir()
	t.Setenv("JAVA_HOME", home)
	java := filepath.Join(home, "bin", "java")
	if err := os.Mkdir(filepath.Dir(java), 0o755); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]bool{
		"17.0.15": true, "17-ea": false, "17": true, "1.8.0_402": false, "170.0.1": false,
	} {
		script := "#!/bin/sh\necho 'openjdk version \"" + version + "\" 2025-04-15' >&2\n"
		if err := os.WriteFile(java, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if found, _ := searchJava(t.Context()); (found == java) != want {
			t.Errorf("with Java %s in JAVA_HOME the choice is %q", version, found)
		}
	}
}

// TestNothingToInstall: without CI nothing is installed, and the error says what to install.
func TestNothingToInstall(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("PATH", t.TempDir())
	_, err := findTool(t.Context(), "mvn", "Maven fetches Cassandra", "maven")
	if !errors.Is(err, errByHand) || !strings.Contains(err.Error(), "on Debian, maven") {
		t.Errorf("without mvn: %v", err)
	}
}

func TestLoopback(t *testing.T) {
	if host, port, err := loopback("127.0.0.2:9042"); host != "127.0.0.2" || port != 9042 ||
		err != nil {
		t.Errorf("127.0.0.2:9042 is %s, %d, %v", host, port, err)
	}
	for _, addr := range []string{
		"0.0.0.0:9042", ":9042", "localhost:9042", "[::1]:9042", "10.0.0.1:1", "127.0.0.1:x", "",
	} {
		if host, port, err := loopback(addr); err == nil {
			t.Errorf("%q is taken, as %s and %d", addr, host, port)
		}
	}
}

func TestPortsTaken(t *testing.T) {
	p, err := freePorts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.free("127.0.0.1"); err != nil {
		t.Errorf("a port that was just free: %v", err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p.TLSStorage()))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if p.free("127.0.0.1") == nil || allFree(p.Storage, 2, []string{"127.0.0.1"}) {
		t.Error("a port on which somebody listens is said to be free")
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryLock(path); err == nil {
		t.Error("a lock is held twice")
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		again, err := lock(path)
		if err != nil {
			t.Error(err)
			return
		}
		again()
	})
	unlock()
	waiting.Wait()
}
