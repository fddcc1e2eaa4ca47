package measure

import (
	"os"
	"strings"
	"syscall"
)

// processorAndKernel asks the kernel for the processor's model and for its own version.
func processorAndKernel() (processor, kernel string) {
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			if processor == "" && strings.TrimSpace(name) == "model name" {
				processor = strings.TrimSpace(value)
			}
		}
	}
	var uts syscall.Utsname
	if err := syscall.Uname(&uts); err == nil {
		for _, c := range uts.Release { // of int8 or uint8, as the architecture has it
			if c == 0 {
				break
			}
			kernel += string(rune(byte(c)))
		}
	}
	return processor, kernel
}
