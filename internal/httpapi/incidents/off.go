package incidents

import (
	"strings"

	"github.com/andonhq/andon/internal/notify"
)

// Off is what a server answers that keeps no incidents.
const Off = "incidents are off: the setting incidents of the server turns them on " +
	"(andon serve --incidents on)"

// Concern reports whether a path, below that of the API or of a signed link, is of a route about
// incidents.
func Concern(path string) bool {
	return path == "/incidents" || strings.HasPrefix(path, "/incidents/") ||
		strings.HasPrefix(path, notify.Acknowledgements) ||
		path == "/reports/incidents" ||
		strings.HasPrefix(path, "/devices/") && strings.HasSuffix(path, "/incidents")
}
