package command

import (
	"github.com/andonhq/andon/client"
)

// VersionLine returns "andon v1.2.3 (1a2b3c4, 2025-12-04T12:00:00Z, go1.26.8)".
func VersionLine(v client.Version) string {
	line := "andon " + v.Version + " ("
	if v.Revision != "" {
		line += v.Revision[:min(len(v.Revision), 12)] + ", " + v.Time + ", "
	}
	return line + v.Go + ")"
}
