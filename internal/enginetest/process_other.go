//go:build !linux

package enginetest

import "syscall"

// attributes leaves a process in the group of its owner, since the kernel can't be asked to kill it
// when its owner dies: Ctrl-C, and what ends a whole group, reach it.
func attributes() *syscall.SysProcAttr { return nil }
