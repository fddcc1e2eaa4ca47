package pebblestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/andonhq/andon"
)

// TestDiskErrors has writes and syncs of any file fail, now and then, while four writers append,
// and opens what was synced by the time that the store gave up, or by its end: all that was
// acknowledged must be there, and each device must show what its own history says.
func TestDiskErrors(t *testing.T) {
	failures := 0
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			if diskErrors(t, seed) {
				failures++
			}
		})
	}
	if failures == 0 {
		t.Error("no store met an error that it can't go on after")
	}
}

func diskErrors(t *testing.T, seed uint64) (gaveUp bool) {
	fs := vfs.NewCrashableMem()
	on := failNowAndThen(seed)
	dead := make(chan struct{})
	var once sync.Once
	s, err := Open("store", Options{
		FS: errorfs.Wrap(fs, on), memTable: 128 << 10,
		Fatal: func(error) {
			once.Do(func() { close(dead) })
			select {} // the process would end here
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	on.On()
	var acknowledged sync.Map // of andon.Event
	ended := make(chan struct{})
	go func() {
		var writers sync.WaitGroup
		for w := range uint64(4) {
			writers.Go(func() { writeUntilDead(s, rand.New(rand.NewPCG(seed, w)), &acknowledged) })
		}
		writers.Wait()
		close(ended)
	}()
	select {
	case <-dead:
		gaveUp = true
	case <-ended:
	}
	on.Off()
	var certain []andon.Event
	acknowledged.Range(func(e, _ any) bool {
		certain = append(certain, e.(andon.Event))
		return true
	})
	checkAfterCrash(t, fs.CrashClone(vfs.CrashCloneCfg{}), certain)
	if !gaveUp {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return gaveUp
}

// failNowAndThen has about one in so many writes and syncs fail.
func failNowAndThen(seed uint64) *errorfs.Toggle {
	const oneIn = 400
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 99))
	return &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		default:
			return nil
		}
		if op.Path == "store" {
			// Where the directory can't be synced for a new log, Pebble panics with a mutex
			// unlocked that it unlocks again, which no test survives. The process would end here.
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if rng.IntN(oneIn) == 0 {
			return errorfs.ErrInjected
		}
		return nil
	})}
}

// writeUntilDead notes what is acknowledged, until an append is not.
func writeUntilDead(s *Store, rng *rand.Rand, acknowledged *sync.Map) {
	for range 60 {
		events := randomEvents(rng)
		if s.Append(context.Background(), andon.DefaultTenant, 1, events) != nil {
			return
		}
		for _, e := range events {
			acknowledged.Store(e, true)
		}
		if rng.IntN(20) == 0 && s.flushDue() != nil {
			return
		}
	}
}
