package sources

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/mapping"
)

// mapped is an entry that a message became.
type mapped struct {
	Line   int            `json:"line"`
	Tenant andon.TenantID `json:"tenant,omitempty"`
	andon.Event
	State    andon.State   `json:"state,omitempty"` // a reading has none
	Metrics  andon.Metrics `json:"metrics,omitempty"`
	Metadata andon.JSON    `json:"metadata,omitempty"`
}

// Map is "andon map".
func Map(p *command.Program) *cobra.Command {
	var usual mapping.Message
	cmd := &cobra.Command{
		Use:   "map [FILE]",
		Short: "Try a mapping on messages of another system",
		Long: `Try a mapping on messages of another system: print the entries that they become, and
why others become none. Nothing is sent. FILE has one JSON message, or one in each line, or what
Kafka's console consumer prints; - is standard input. Without --using the messages are Andon's own
JSON. A message without a time gets the present one.`,
		Example: `  andon map messages.ndjson --using thermometers.yaml --topic plant/hall-3/t1
  kafka-console-consumer --topic status --property print.key=true ... | andon map - --using m.yaml
  andon map --list`,
	}
	flags := cmd.Flags()
	using := flags.String("using", "", "`file` of the mapping")
	flags.StringVar(&usual.Topic, "topic", "", "`topic` of the messages")
	flags.StringVar(&usual.Key, "key", "", "`key` of messages for which FILE has none")
	flags.StringToStringVar(&usual.Headers, "header", nil, "`name=text` of a header")
	isList := flags.Bool("list", false, "list the tables of states that mappings can name")
	o := p.NewOutput(cmd)
	return p.Does(cmd, func(_ context.Context, args []string) error {
		if *isList {
			columns := command.Fields[mapping.TableRow]("table", "state", "names")
			return command.Show(p, o, columns, command.Each(mapping.Tables()))
		}
		if len(args) == 0 {
			return andon.Errorf(andon.Invalid, "FILE is missing; - is standard input")
		}
		var m *mapping.Mapping
		text, err := read(p, args[0])
		if err == nil && *using != "" {
			m, err = mapping.Read(*using)
		}
		if err != nil {
			return err
		}
		return try(p, o, m, messages(text, usual, p.Now()))
	})
}

func read(p *command.Program, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(p.Stdin)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		err = andon.Errorf(andon.Invalid, "read the messages: %w", err)
	}
	return text, err
}

// messages are those of a text: itself where it is one of JSON, else its lines. The line of a
// message is its place.
func messages(text []byte, usual mapping.Message, now andon.Time) (all []mapping.Message) {
	lines := [][]byte{text}
	if !json.Valid(text) {
		lines = bytes.Split(text, []byte("\n"))
	}
	for i, line := range lines {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			m := usual
			m.Place, m.Time = strconv.Itoa(i+1), now+andon.Time(i)
			consumed(&m, line)
			all = append(all, m)
		}
	}
	return all
}

// consumed reads a line as the console consumer of Kafka prints it: the time, partition, offset,
// headers and key, if these are asked for, and the value, with tabs between them.
func consumed(m *mapping.Message, line []byte) {
	m.Value = line
	start := bytes.IndexAny(line, "{[")
	if start < 1 || line[start-1] != '\t' {
		return
	}
	m.Value = line[start:]
	var rest []string
	for _, field := range strings.Split(string(line[:start-1]), "\t") {
		name, value, _ := strings.Cut(field, ":")
		switch name {
		case "CreateTime", "LogAppendTime":
			if at, err := andon.ParseEpoch(value, andon.Milliseconds); err == nil {
				m.Time = at
			}
		case "Partition", "Offset", "NO_HEADERS", "NO_TIMESTAMP":
		default:
			rest = append(rest, field)
		}
	}
	if n := len(rest); n > 0 && rest[n-1] != "null" {
		m.Key = rest[n-1]
	}
	if len(rest) > 1 {
		m.Headers = map[string]string{}
		for pair := range strings.SplitSeq(rest[0], ",") {
			name, value, _ := strings.Cut(pair, ":")
			m.Headers[name] = value
		}
	}
}

// try prints what messages become.
func try(
	p *command.Program, o *command.Output, m *mapping.Mapping, all []mapping.Message,
) error {
	var shown []mapped
	refused := 0
	for i := range all {
		line, _ := strconv.Atoi(all[i].Place)
		entries, wrong := m.Map(&all[i])
		for _, e := range entries {
			one := mapped{Line: line, Tenant: e.Tenant}
			if e.Event != nil {
				one.Event, one.State = *e.Event, e.Event.State
			} else {
				one.Event.Device, one.Event.Time = e.Reading.Device, e.Reading.Time
				one.Metrics, one.Metadata = e.Reading.Metrics, e.Reading.Metadata
			}
			shown = append(shown, one)
		}
		for _, r := range wrong {
			fmt.Fprintf(p.Stderr, "line %d, entry %d: %s\n", line, r.Index, draw.Legible(r.Error))
		}
		refused += len(wrong)
	}
	columns := command.Fields[mapped]("line", "tenant", "device", "time", "state", "operator",
		"escalated_to", "message", "attributes", "metrics", "metadata")
	err := command.Show(p, o, columns, command.Each(shown))
	if err == nil && refused > 0 {
		err = command.ErrRejected
	}
	return err
}
