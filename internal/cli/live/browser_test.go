package live

import (
	"runtime"
	"testing"

	"github.com/andonhq/andon/internal/cli/command"
)

func TestHasDisplay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no variable that names the display")
	}
	for variable, want := range map[string]bool{
		"DISPLAY=:0": true, "WAYLAND_DISPLAY=wayland-0": true, "DISPLAY=": false,
		"TERM=xterm": false,
	} {
		if hasDisplay(&command.Program{Environ: []string{variable}}) != want {
			t.Errorf("%s: %t", variable, !want)
		}
		ssh := []string{variable, "SSH_CONNECTION=192.0.2.1 5 192.0.2.2 22"}
		if hasDisplay(&command.Program{Environ: ssh}) {
			t.Errorf("%s over SSH: the browser would be on the other machine", variable)
		}
	}
}
