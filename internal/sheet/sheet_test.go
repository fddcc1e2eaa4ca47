package sheet_test

import (
	"testing"

	"github.com/andonhq/andon/internal/sheet"
)

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "press-7": "press-7", "a=1": "a=1", "'=1": "'=1", "-1.5": "-1.5", "+1e9": "+1e9",
		"=1+1": "'=1+1", "+1+1": "'+1+1", "-1+1": "'-1+1", "-": "'-", "@SUM(A1)": "'@SUM(A1)",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "＝1": "'＝1",
	} {
		if got := sheet.Cell(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
