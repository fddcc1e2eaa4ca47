package live

import (
	"os/exec"
	"runtime"
	"syscall"

	"github.com/andonhq/andon/internal/cli/command"
)

// hasDisplay reports whether a browser would appear on the screen of the user: not over SSH, and
// not where there is no display.
func hasDisplay(p *command.Program) bool {
	if p.Variable("SSH_CONNECTION") != "" {
		return false
	}
	return runtime.GOOS == "darwin" || p.Variable("DISPLAY") != "" ||
		p.Variable("WAYLAND_DISPLAY") != ""
}

// openBrowser starts the system's browser and does not wait until it ends.
func openBrowser(url string) error {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	cmd := exec.Command(name, url)
	// With a process group of its own it does not get this terminal's Ctrl-C.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
