package directory

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
)

func TestNewerEngineIsRefused(t *testing.T) {
	for version, refused := range map[pebble.FormatMajorVersion]bool{
		engineFormat - 1: false, engineFormat: false, engineFormat + 1: true,
	} {
		err := checkEngine(&pebble.DBDesc{Exists: true, FormatMajorVersion: version})
		if (andon.KindOf(err) == andon.Conflict) != refused {
			t.Errorf("engine format %d: %v", version, err)
		}
	}
}
