package shared

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/andonhq/andon"
)

// TestDevicesAreACache: however many devices there are, few slots stay, and none that is taken is
// forgotten.
func TestDevicesAreACache(t *testing.T) {
	d := NewDevices[int]()
	held, err := d.Take(t.Context(), "t", "held")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * slotsPerPart * len(d.parts) {
		one, err := d.Take(t.Context(), "t", andon.DeviceID(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		one.Give()
	}
	for i := range d.parts {
		if n := len(d.parts[i].slots); n > slotsPerPart {
			t.Errorf("%d slots in one part, more than %d", n, slotsPerPart)
		}
	}
	k := held.Slots[0].Key
	if d.part(k).slots[k] != held.Slots[0] {
		t.Error("a slot that is taken was forgotten")
	}
}

// TestDevicesWait: a device has one writer at a time, which a reader does not wait for; what waits
// in vain gives back what it took.
func TestDevicesWait(t *testing.T) {
	d := NewDevices[int]()
	held, err := d.Take(t.Context(), "t", "b")
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := d.Borrow(DeviceKey{"t", "b"}); s != nil {
		t.Error("a slot that is taken was borrowed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Take(ctx, "t", "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("took a slot that is taken: %v", err)
	}
	for range 10 { // a free slot may be taken although the context has ended
		if both, err := d.Take(ctx, "t", "a", "b"); err == nil {
			both.Give()
			t.Error("took a slot that is taken")
		}
	}
	view := 7
	held.Slots[0].View = &view
	held.Give()
	for _, id := range []andon.DeviceID{"a", "b"} {
		s, giveBack := d.Borrow(DeviceKey{"t", id})
		if s == nil {
			t.Fatalf("%s is not free", id)
		}
		if known := s.View != nil; known != (id == "b") {
			t.Errorf("the view of %s is known: %v", id, known)
		}
		giveBack()
	}
}

// TestNamesOfRequestsAreNotKept: what is kept of a device is found by its name once the memory that
// a request had it in is used for something else.
func TestNamesOfRequestsAreNotKept(t *testing.T) {
	body := []byte("t d")
	request := unsafe.String(&body[0], len(body))
	k := DeviceKey{request[:1], andon.DeviceID(request[2:])}
	d, j := NewDevices[int](), Joins[int]{}
	was, err := d.Take(t.Context(), k.Tenant, k.Device)
	if err != nil {
		t.Fatal(err)
	}
	was.Give()
	j.join(k, 1, new(int))
	clear(body)
	is, err := d.Take(t.Context(), "t", "d")
	if err != nil || is.Slots[0] != was.Slots[0] {
		t.Errorf("the device has another slot, %v", err)
	}
	is.Give()
	if n := j.Waiting("t", "d"); n != 1 {
		t.Errorf("%d requests wait", n)
	}
}
