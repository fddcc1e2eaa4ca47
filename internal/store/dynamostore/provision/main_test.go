package provision

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/andonhq/andon/internal/enginetest"
)

// TestMain checks that no goroutine of a closed client goes on.
func TestMain(m *testing.M) { goleak.VerifyTestMain(enginetest.Engines{M: m}) }
