package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a running engine; nil is one that was never started.
type process struct {
	os    *os.Process
	ended context.Context // done once the process is gone
}

// longestStop is how long a process may take to stop before it is killed.
const longestStop = 30 * time.Second

// startProcess starts a command that ends with this process.
//
// The kernel ends it when the thread that started it does, so that thread has to stay: a goroutine
// holds it until the command has ended.
func startProcess(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = attributes()
	ended, end := context.WithCancel(context.Background())
	started := make(chan error)
	go func() {
		defer end()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &process{os: cmd.Process, ended: ended}, nil
}

func (p *process) running() bool { return p != nil && p.ended.Err() == nil }

// whileRunning returns a context that also ends with the process, and what ends it.
func (p *process) whileRunning(
	ctx context.Context,
) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(p.ended, func() { cancel(errors.New("it ended")) })
	return ctx, cancel
}

// end sends a signal and waits until the process is gone. One that does not go is killed, which is
// an error.
func (p *process) end(signal syscall.Signal) error {
	if !p.running() {
		return nil
	}
	if err := p.os.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v: %w", signal, err)
	}
	timeout := time.NewTimer(longestStop)
	defer timeout.Stop()
	select {
	case <-p.ended.Done():
		return nil
	case <-timeout.C:
	}
	if err := p.os.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill: %w", err)
	}
	<-p.ended.Done()
	return fmt.Errorf("it did not stop within %s, and was killed", longestStop)
}
