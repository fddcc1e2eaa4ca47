package people

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// documentOf takes the kind out of a document.
func documentOf(n *yaml.Node) (d client.Document, err error) {
	if n.Kind != yaml.MappingNode {
		return d, fmt.Errorf("line %d: want kind, name, and the fields of a document", n.Line)
	}
	var is struct {
		Kind string         `yaml:"kind"`
		Name string         `yaml:"name"`
		Rest map[string]any `yaml:",inline"`
	}
	if err = keepTexts(n); err == nil {
		err = n.Decode(&is)
	}
	if err != nil {
		return d, err
	}
	if is.Kind == "" || is.Name == "" {
		return d, fmt.Errorf("line %d: a document has a kind (policy, schedule, rule, person, "+
			"maintenance or groups) and a name", n.Line)
	}
	fields := map[string]any{"name": is.Name}
	maps.Copy(fields, is.Rest)
	text, err := json.Marshal(fields)
	if err != nil { // such as .nan
		return d, fmt.Errorf("line %d: %w", n.Line, err)
	}
	return client.Document{Kind: is.Kind, Name: is.Name, Content: andon.JSON(text)}, nil
}

// keepTexts keeps what YAML would decode as anything but a number, a truth or null, such as a time,
// the text that it is; and so the names of fields.
func keepTexts(n *yaml.Node) error {
	others := []string{"!!int", "!!float", "!!bool", "!!null"}
	switch {
	case n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: *%s is an alias: write it out", n.Line, n.Value)
	case n.Kind == yaml.ScalarNode && !slices.Contains(others, n.Tag):
		n.Tag = "!!str"
	}
	for i, child := range n.Content {
		if err := keepTexts(child); err != nil {
			return err
		}
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
			child.Tag = "!!str"
		}
	}
	return nil
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
			_, err = fmt.Fprintln(p, line)
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
