// Command andon keeps the state of every device of a fleet: what it is now, what it was, and who
// answers for it.
package main

import (
	"os"
	_ "time/tzdata" // zones of import --zone, also where the machine has none

	"github.com/andonhq/andon/internal/cli"
)

// version is the release, stamped by the linker: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	os.Exit(cli.Main(version))
}
