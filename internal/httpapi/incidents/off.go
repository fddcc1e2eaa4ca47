package incidents

import "strings"

// Off is what a server answers that keeps no incidents.
const Off = "incidents are off: the setting incidents of the server turns them on " +
	"(andon serve --incidents on)"

// Concern reports whether a path, below that of the API, is of a route about incidents.
func Concern(path string) bool {
	return path == "/incidents" || strings.HasPrefix(path, "/incidents/") ||
		path == "/reports/incidents" ||
		strings.HasPrefix(path, "/devices/") && strings.HasSuffix(path, "/incidents")
}
