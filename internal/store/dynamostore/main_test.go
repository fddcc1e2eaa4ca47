package dynamostore

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/andonhq/andon/internal/enginetest"
)

// TestMain sees that nothing of a closed store goes on.
func TestMain(m *testing.M) { goleak.VerifyTestMain(enginetest.Engines{M: m}) }
