package folders_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/folders"
	"github.com/treeline-dev/treeline/internal/world"
)

// Sessions are counted, not calls: a session that stores many blobs leaves room for the notes of others.
func TestNoteEachSession(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	n := folders.New(w.Machine(), w.At("state"))
	for range 20 {
		w.Must(n.NoteFolder(t.Context(), w.At("elsewhere/first.jsonl")))
	}
	w.Must(n.NoteFolder(t.Context(), w.At("elsewhere/second.jsonl")))
	list, err := n.Folders(t.Context())
	w.Must(err)
	if len(list) != 1 || !slices.Equal(list[0].Seen, []string{"first.jsonl", "second.jsonl"}) {
		t.Errorf("noted: %+v", list)
	}
	for i := range 40 {
		w.Must(n.NoteFolder(t.Context(), w.At(fmt.Sprintf("elsewhere/%d.jsonl", i))))
	}
	list, err = n.Folders(t.Context())
	w.Must(err)
	if len(list) != 1 || len(list[0].Seen) != 16 {
		t.Errorf("%d sessions are noted", len(list[0].Seen))
	}
}
