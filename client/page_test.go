package client_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPage compiles the code that docs/go-client.md shows, as one function.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "go-client.md"))
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, block := range strings.Split(string(text), "```go\n")[1:] {
		shown, _, _ := strings.Cut(block, "```")
		code.WriteString(shown)
	}
	if code.Len() == 0 {
		t.Fatal("the page shows no code")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "page.go")
	program := "package page\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"log\"\n\t\"time\"\n\n" +
		"\t\"github.com/andonhq/andon\"\n\t\"github.com/andonhq/andon/client\"\n)\n\n" +
		"func Page(ctx context.Context) error {\n" + code.String() + "return nil\n}\n"
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(here, "page", "page.go"): source},
	})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "build", "-overlay", list, "./page").CombinedOutput()
	if err != nil {
		t.Errorf("the code of the page does not compile: %v\n%s", err, out)
	}
}
