package enginetest

import "syscall"

// attributes puts a process into a group of its own, so that Ctrl-C reaches it through its owner
// only, and has the kernel kill it when its owner dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
