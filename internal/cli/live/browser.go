package live

import (
	"os/exec"
	"runtime"

	"github.com/andonhq/andon/internal/cli/command"
)

// hasDisplay reports whether a browser would appear on the screen of the user: not over SSH, and
// not where there is no display.
func hasDisplay(p *command.Program) bool {
	if p.Variable("SSH_CONNECTION") != "" {
		return false
	}
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	return p.Variable("DISPLAY") != "" || p.Variable("WAYLAND_DISPLAY") != ""
}

// openBrowser starts the system's browser and does not wait until it ends.
func openBrowser(url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	cmd := exec.Command(name, args...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
