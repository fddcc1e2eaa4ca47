package enginetest

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// logged returns how many bytes a node has logged and printed.
func (n *Node) logged() (bytes int64) {
	for _, name := range []string{"system.log", "stdout"} {
		if is, err := os.Stat(n.path("log", name)); err == nil {
			bytes += is.Size()
		}
	}
	return bytes
}

// LogTail returns the last lines of what a node logged, and of what it printed, without the
// stacks of its exceptions.
func (n *Node) LogTail(lines int) string {
	logged := tail(n.path("log", "system.log"), lines)
	printed := tail(n.path("log", "stdout"), lines)
	return cmp.Or(strings.TrimSpace(logged+"\n"+printed), "(nothing)")
}

func tail(path string, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	all = slices.DeleteFunc(all, func(line string) bool { return strings.HasPrefix(line, "\t") })
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
