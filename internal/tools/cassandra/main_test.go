package main

import (
	"bytes"
	"net"
	"strings"
	"testing"
)

func TestSerialRun(t *testing.T) {
	dir := t.TempDir()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := busy.Addr().String()
	for _, c := range []struct{ args, out, err string }{
		{"--help", "It runs until Ctrl-C", ""},
		{"-dir " + dir + " -addr " + taken, "", taken + ": bind: address already in use"},
		{"here", "", `"here" is no flag`},
		{"-share", "", "-share needs a command"},
		{"-dir " + dir + " -addr 0.0.0.0:0", "", "0.0.0.0 is not an address of"},
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
