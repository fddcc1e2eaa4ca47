package app

import (
	"fmt"
	"syscall"
)

// LookAtDisk asks for the file system that dir is on.
func LookAtDisk(dir string) (Disk, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Disk{}, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	block := uint64(s.Bsize)
	name := make([]byte, 0, len(s.Fstypename))
	for _, c := range s.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	d := Disk{
		Free: s.Bavail * block, Size: s.Blocks * block, FreeFiles: s.Ffree, Files: s.Files,
		Type: string(name),
	}
	d.Network = d.Type == "nfs" || d.Type == "smbfs" || d.Type == "webdav"
	return d, nil
}
