//go:build !unix

package live

import "os/exec"

// detach does nothing: what rundll32 starts does not get this terminal's Ctrl-C.
func detach(*exec.Cmd) {}
