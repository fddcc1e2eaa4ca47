//go:build !linux && !darwin

package cli

// processorAndKernel knows nothing of this operating system.
func processorAndKernel() (processor, kernel string) { return "", "" }
