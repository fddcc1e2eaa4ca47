package people

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// document is one of a file, and where it is there.
type document struct {
	client.Document
	from string
}

var forms = []string{".yaml", ".yml", ".json", ".ndjson"} // the last two are JSON

// readAll reads the documents of files, of all files below directories, and of standard input.
func readAll(p *command.Program, from []string) (all []document, err error) {
	for _, path := range from {
		before := len(all)
		if path == "-" {
			path = "standard input"
			all, err = read(all, path, p.Stdin)
		} else {
			all, err = readFiles(all, path)
		}
		if err == nil && len(all) == before {
			err = fmt.Errorf("%s: there is no document", path)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readFiles reads the documents of a file, or of all files below a directory.
func readFiles(all []document, path string) ([]document, error) {
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != path && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || file != path && !slices.Contains(forms, filepath.Ext(file)):
			return nil
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		all, err = read(all, file, f)
		return err
	})
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		err = andon.Errorf(andon.Invalid, "open the file: %w", err)
	}
	return all, err
}

func read(all []document, file string, r io.Reader) ([]document, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	next := yaml.NewDecoder(bytes.NewReader(text)).Decode
	if slices.Contains(forms[2:], filepath.Ext(file)) || isJSON(text) {
		next = jsonDocuments(bytes.NewReader(text))
	}
	for n := 1; ; n++ {
		node := yaml.Node{}
		switch err := next(&node); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(node.Content) == 0 || node.Content[0].Tag == "!!null" { // nothing between two lines
			continue
		}
		d, err := documentOf(node.Content[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		from := fmt.Sprintf("%s, document %d", file, n)
		all = append(all, document{d, from})
	}
}

// isJSON reports whether a text is JSON that can't be YAML: an object right after another one.
func isJSON(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&json.RawMessage{})
	return err == nil && bytes.HasPrefix(bytes.TrimSpace(text[d.InputOffset():]), []byte("{"))
}

// jsonDocuments reads objects that follow each other, each as YAML, which it is as well.
func jsonDocuments(r io.Reader) func(any) error {
	d := json.NewDecoder(r)
	return func(into any) error {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return err
		}
		return yaml.Unmarshal(text, into)
	}
}

// documentOf takes the kind and the name out of a document.
func documentOf(n *yaml.Node) (d client.Document, err error) {
	if n.Kind != yaml.MappingNode {
		return d, fmt.Errorf("line %d: want kind, name, and the fields of a document", n.Line)
	}
	rest := *n
	rest.Content = nil
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Value == "kind" && value.Kind == yaml.ScalarNode && d.Kind == "":
			d.Kind = value.Value
		case key.Value == "name" && value.Kind == yaml.ScalarNode && d.Name == "":
			d.Name = value.Value
		default:
			rest.Content = append(rest.Content, key, value)
		}
	}
	if d.Kind == "" || d.Name == "" {
		return d, fmt.Errorf("line %d: a document has a kind (policy, schedule, rule, person, "+
			"maintenance or groups) and a name", n.Line)
	}
	var text bytes.Buffer
	err = writeJSON(&text, &rest)
	d.Content = andon.JSON(text.String())
	return d, err
}

// writeJSON writes a node as JSON. What YAML would take for a time stays the text that it is.
func writeJSON(w *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		return writeScalar(w, n)
	case yaml.MappingNode, yaml.SequenceNode:
	default:
		return fmt.Errorf("line %d: *%s is an alias: write it out", n.Line, n.Value)
	}
	isMap := n.Kind == yaml.MappingNode
	brackets := "[]"
	if isMap {
		brackets = "{}"
	}
	w.WriteByte(brackets[0])
	for i, value := range n.Content {
		if i > 0 && isMap && i%2 == 1 {
			w.WriteByte(':')
		} else if i > 0 {
			w.WriteByte(',')
		}
		if isMap && i%2 == 0 && value.Kind == yaml.ScalarNode {
			value = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value.Value}
		}
		if err := writeJSON(w, value); err != nil {
			return err
		}
	}
	w.WriteByte(brackets[1])
	return nil
}

func writeScalar(w *bytes.Buffer, n *yaml.Node) error {
	var value any = n.Value
	switch n.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		if err := n.Decode(&value); err != nil {
			return err
		}
	}
	text, err := json.Marshal(value)
	if err != nil { // such as .nan
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	_, err = w.Write(text)
	return err
}

// WithConfig adds "andon export config" to "andon export".
func WithConfig(p *command.Program, export *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Export policies, schedules, rules, people, maintenance and groups",
		Long: `Export policies, schedules, rules, people, maintenance and groups, as andon apply
takes them: YAML, with --- between documents, or a JSON object a line. What others refer to comes
first.`,
		Example: `  andon export config > people.yaml
  andon export config --format ndjson`,
	}
	t := p.NewTarget(cmd)
	form := command.ChoiceFlag(cmd, "format", command.FormatYAML, "form of the documents",
		command.FormatYAML, command.FormatNDJSON)
	t.Asks(func(ctx context.Context, c *client.Client, _ []string) error {
		between := ""
		write := func(line string) (err error) {
			if form.Value == command.FormatYAML {
				if line, err = yamlOf(line); err != nil {
					return err
				}
				line, between = between+line, "---\n"
			}
			_, err = fmt.Fprintln(p.Stdout, line)
			return err
		}
		for d, err := range c.Documents(ctx) {
			if err != nil {
				return err
			}
			kind, err := json.Marshal(d.Kind)
			if err != nil {
				return err
			}
			content := strings.TrimPrefix(string(d.Content), "{")
			if err := write(fmt.Sprintf(`{"kind":%s,%s`, kind, content)); err != nil {
				return err
			}
		}
		text, err := groupsDocument(ctx, c)
		if err == nil && text != "" {
			err = write(text)
		}
		return err
	})
	export.AddCommand(cmd)
	return export
}

// yamlOf returns JSON as people write YAML.
func yamlOf(text string) (string, error) {
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		return "", err
	}
	plain(&node)
	written, err := yaml.Marshal(&node)
	return strings.TrimSuffix(string(written), "\n"), err
}

func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}
