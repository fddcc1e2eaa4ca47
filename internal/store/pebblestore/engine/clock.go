package engine

import "time"

var processStart = time.Now()

// SinceStart is what time it is by the process's own clock. It is never 0.
func SinceStart() time.Duration { return time.Since(processStart) + 1 }
