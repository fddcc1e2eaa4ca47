package measure

import "syscall"

// processorAndKernel asks the kernel for the processor's model and for its own version.
func processorAndKernel() (processor, kernel string) {
	processor, _ = syscall.Sysctl("machdep.cpu.brand_string")
	kernel, _ = syscall.Sysctl("kern.osrelease")
	return processor, kernel
}
