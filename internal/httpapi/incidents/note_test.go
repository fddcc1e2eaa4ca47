package incidents

import (
	"testing"

	"github.com/andonhq/andon/internal/people"
)

func TestTheNewestNoteOfAPersonIsInLists(t *testing.T) {
	i := &people.Incident{Steps: []people.Step{
		{What: "opened", Note: "WARNING1"},
		{What: "commented", By: "Ann", Note: "ordered"},
		{What: "acknowledged", By: "Liz"},
		{What: "changed", Note: "WARNING2"},
	}}
	shown := Show(i)
	if shown.Note == nil || shown.Note.By != "Ann" || shown.Note.Note != "ordered" {
		t.Errorf("the note is %+v, not that of Ann", shown.Note)
	}
	if i.Steps = i.Steps[:1]; Show(i).Note != nil {
		t.Error("what Andon notes itself is taken for a note of a person")
	}
}
