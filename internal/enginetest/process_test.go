package enginetest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// startSleeper starts a process that would outlive any test.
func startSleeper() error {
	cmd := exec.Command("sleep", "3600")
	cmd.Stdout = os.Stdout
	_, err := startProcess(cmd)
	return err
}

// startOwner starts this test binary as the owner of a process. What it returns ends once both are
// gone, or fails after half a minute.
func startOwner(t *testing.T) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	t.Cleanup(func() { r.Close() })
	if err := r.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asOwner+"=1")
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(r)
}

func TestProcessEnds(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		p, err := startProcess(exec.Command("sleep", "3600"))
		if err != nil {
			t.Fatal(err)
		}
		if !p.running() {
			t.Error("a process that was started does not run")
		}
		if err := p.end(signal); err != nil || p.running() {
			t.Errorf("end by %v: %v, running: %t", signal, err, p.running())
		}
		if err := p.end(signal); err != nil {
			t.Errorf("end what has ended: %v", err)
		}
	}
}

func TestProcessCantStart(t *testing.T) {
	if _, err := startProcess(exec.Command("/nowhere/java")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("start what is not there: %v", err)
	}
	var never *process
	if err := never.end(syscall.SIGTERM); err != nil || never.running() {
		t.Errorf("end what never started: %v", err)
	}
}

// ownProcess never returns. The process that it starts holds standard output open while it lives.
func ownProcess() {
	if err := startSleeper(); err != nil {
		panic(err)
	}
	fmt.Println("started")
	select {}
}

// TestOwnerIsKilled: what a test binary started dies with it, however that dies.
func TestOwnerIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can be asked for it")
	}
	owner, output := startOwner(t)
	if line, err := output.ReadString('\n'); line != "started\n" {
		t.Fatalf("the owner said %q, %v", line, err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := output.ReadString('\n'); rest != "" || err == nil {
		t.Errorf("the output went on with %q, %v", rest, err)
	}
	_ = owner.Wait() // it was killed
}
