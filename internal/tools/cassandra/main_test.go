package main

import (
	"bytes"
	"net"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := busy.Addr().String()
	for _, c := range []struct{ args, out, err string }{
		{"status -dir " + dir, "No node ever ran in " + dir, ""},
		{"stop -dir " + dir, "No node ever ran in " + dir, ""},
		{"--help", "start it and keep it running", ""},
		{"start -dir " + dir + " -addr " + taken, "", taken + " is taken: name another address"},
		{"", "", "say what to do"},
		{"begin", "", "is not start, stop or status"},
		{"start -nodes 2", "", "not 1 or 3"},
		{"start here", "", `"here" is no flag`},
		{"start -dir " + dir + " -addr 0.0.0.0:0", "", "0.0.0.0 is not an address of"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), strings.Fields(c.args), &out)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("cassandra %s: %v, want %q", c.args, err, c.err)
		}
		if !strings.Contains(out.String(), c.out) {
			t.Errorf("cassandra %s prints %q, want %q", c.args, out.String(), c.out)
		}
	}
}
