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
	d := Disk{Free: s.Bavail * block, Size: s.Blocks * block, FreeFiles: s.Ffree, Files: s.Files}
	// 32 bits: on some architectures the field is signed.
	switch uint32(s.Type) {
	case 0xEF53:
		d.Type = "ext4"
	case 0x58465342:
		d.Type = "xfs"
	case 0x9123683E:
		d.Type = "btrfs"
	case 0x2FC12FC1:
		d.Type = "zfs"
	case 0x01021994:
		d.Type, d.Passing = "tmpfs", "it is in memory, and gone when the machine restarts"
	case 0x794C7630:
		d.Type, d.Passing = "overlay", "it is a container's own layer, and gone with the container"
	case 0x6969:
		d.Type, d.Network = "nfs", true
	case 0xFF534D42, 0xFE534D42:
		d.Type, d.Network = "smb", true
	case 0x00C36400:
		d.Type, d.Network = "ceph", true
	case 0x65735546:
		d.Type, d.Network = "fuse", true // what is behind it can't be told; most are a network's
	}
	return d, nil
}
