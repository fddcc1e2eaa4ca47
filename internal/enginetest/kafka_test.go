package enginetest

import (
	"strings"
	"syscall"
	"testing"
)

// TestSerialBrokerEnds: a broker keeps what it acknowledged when it is killed, and its address when
// it is started again.
func TestSerialBrokerEnds(t *testing.T) {
	b := OwnKafka(t)
	tool := func(stdin, class string, args ...string) string {
		t.Helper()
		cmd := b.Tool("org.apache.kafka.tools."+class, append(args, "--topic", "t")...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", class, err, out)
		}
		return string(out)
	}
	tool("", "TopicCommand", "--create")
	tool("acknowledged\n", "ConsoleProducer")
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		if err := b.End(signal); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
	}
	got := tool("", "consumer.ConsoleConsumer", "--from-beginning", "--max-messages", "1")
	if !strings.HasPrefix(got, "acknowledged\n") {
		t.Errorf("after kill -9 the message is not there: %q", got)
	}
}
