package app

import (
	"fmt"
	"strconv"
	"syscall"
)

// LookAtDisk asks for the file system that dir is on.
func LookAtDisk(dir string) (Disk, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Disk{}, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	block := uint64(s.Bsize)
	d := fileSystems[uint32(s.Type)] // 32 bits: on some architectures the field is signed
	d.Free, d.Size, d.FreeFiles, d.Files = s.Bavail*block, s.Blocks*block, s.Ffree, s.Files
	return d, nil
}

// ownerOf returns the number of the user to whom a directory belongs.
func ownerOf(dir string) (string, error) {
	var is syscall.Stat_t
	err := syscall.Stat(dir, &is)
	return strconv.Itoa(int(is.Uid)), err
}

// fileSystems are those of linux/magic.h that a store is likely to be on.
var fileSystems = map[uint32]Disk{
	0xEF53: {Type: "ext4"}, 0x58465342: {Type: "xfs"}, 0x9123683E: {Type: "btrfs"},
	0x2FC12FC1: {Type: "zfs"}, 0x6969: {Type: "nfs", Network: true},
	0xFF534D42: {Type: "smb", Network: true}, 0xFE534D42: {Type: "smb", Network: true},
	0x00C36400: {Type: "ceph", Network: true},
	0x65735546: {Type: "fuse", Network: true}, // most are remote
	0x01021994: {Type: "tmpfs", Passing: "it is in memory, and gone when the machine restarts"},
	0x794C7630: {
		Type: "overlay", Passing: "it is a container's own layer, and gone with the container",
	},
}
