package local

import (
	"runtime"
	"testing"
)

func TestAnotherProcessor(t *testing.T) {
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	t.Setenv("GOMAXPROCS", "")
	runtime.SetDefaultGOMAXPROCS()
	want := runtime.GOMAXPROCS(0) + 1
	for range 2 {
		if AnotherProcessor(); runtime.GOMAXPROCS(0) != want {
			t.Errorf("Go runs on %d processors, not on %d", runtime.GOMAXPROCS(0), want)
		}
	}
	t.Setenv("GOMAXPROCS", "5")
	runtime.GOMAXPROCS(5)
	if AnotherProcessor(); runtime.GOMAXPROCS(0) != 5 {
		t.Errorf("Go was told to run on 5 processors, and runs on %d", runtime.GOMAXPROCS(0))
	}
}
