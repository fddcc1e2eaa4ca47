//go:build unix

package live

import (
	"os/exec"
	"syscall"
)

// detach gives a program a process group of its own. Otherwise Ctrl-C would end it, too.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
