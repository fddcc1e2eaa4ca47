package app

// Disk is what the operating system says of the file system of a directory.
type Disk struct {
	Free, Size  uint64 // bytes; Free is what a user without privileges may take
	FreeFiles   uint64
	Files       uint64 // 0 where the file system has no limit of files
	Type        string // "ext4", "nfs", ...; "" where the system does not say, or we don't know it
	Network     bool   // it is on another machine
	Passing     string // why what is written does not outlive the machine's or the container's end
	Unsupported bool   // this operating system is not asked
}
