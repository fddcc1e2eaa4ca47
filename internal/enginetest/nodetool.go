package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// NodeTool runs Cassandra's nodetool against a node and returns what it prints: "flush", "compact",
// "tablestats", "disablebinary", "status". It takes a second or two, most of it to start a JVM.
func (n *Node) NodeTool(ctx context.Context, args ...string) (string, error) {
	if !n.Ours() {
		return "", ErrNotOurs
	}
	java, err := n.toolArguments()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, n.java, append(java, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		err = errors.Join(err, context.Cause(ctx))
		return stdout.String(), fmt.Errorf("nodetool %s: %w: %s", strings.Join(args, " "), err,
			strings.TrimSpace(stderr.String()+stdout.String()))
	}
	return stdout.String(), nil
}

func (n *Node) toolArguments() ([]string, error) {
	args, err := options("jvm.options")
	if err != nil {
		return nil, err
	}
	if err := n.writeTemplate("logback-tools.xml", nil); err != nil {
		return nil, err
	}
	return append(args, "-Xmx128m", "-XX:+PerfDisableSharedMem", "-XX:TieredStopAtLevel=1",
		"-Duser.home="+n.path("tmp"), "-Djava.io.tmpdir="+n.path("tmp"),
		"-Dcassandra.storagedir="+n.options.Dir,
		"-Dlogback.configurationFile="+n.path("conf", "logback-tools.xml"),
		"-cp", filepath.Join(n.jars, "*"),
		"org.apache.cassandra.tools.NodeTool", "-p", strconv.Itoa(n.ports.JMX)), nil
}
