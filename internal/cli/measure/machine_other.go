//go:build !linux && !darwin

package measure

// processorAndKernel knows nothing of this operating system.
func processorAndKernel() (processor, kernel string) { return "", "" }
