package config_test

import (
	"testing"
	"time"

	"github.com/andonhq/andon/internal/config"
)

func TestOperationsCanBeSet(t *testing.T) {
	c, err := config.Load(config.Sources{File: "testdata/yesterday/0004-operations.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Log.Slow != 250*time.Millisecond || c.Log.Audit != "off" ||
		c.Pprof.Listen != "127.0.0.1:6060" {
		t.Errorf("got %+v, %+v", c.Log, c.Pprof)
	}
	c, err = config.Load(config.Sources{Flags: map[string]string{"log.slow": "0s"}})
	if err != nil || c.Log.Slow != 0 {
		t.Errorf("no slow log: %v, %v", c.Log.Slow, err)
	}
}

// TestTrace: each setting is listed with its value and the highest place that set it.
func TestTrace(t *testing.T) {
	_, origins, err := config.Trace(config.Sources{
		File:  "testdata/rise.yaml",
		Env:   []string{"ANDON_STORE=memory", "ANDON_DATA=here"},
		Flags: map[string]string{"data": "there"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defaults := config.Default()
	if got, want := len(origins), len(defaults.Settings()); got != want {
		t.Fatalf("%d settings, want %d", got, want)
	}
	got := map[string]string{}
	for _, o := range origins {
		got[o.Key] = o.Value.String() + " from " + o.Place
	}
	for key, want := range map[string]string{
		"listen":   "file:1 from testdata/rise.yaml:1",
		"store":    "memory from ANDON_STORE",
		"data":     "there from --data",
		"log.slow": "1s from default",
	} {
		if got[key] != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
	if _, _, err := config.Trace(config.Sources{File: "testdata/none.yaml"}); err == nil {
		t.Error("a file that is not there has origins")
	}
}
