package folders_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/folders"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
)

// Sessions are counted, not calls: a session that stores many blobs leaves room for notes of other sessions.
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

// A note that is taken back is gone; notes of other processes stay, even of the same session.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ours, theirs := folders.New(w.Machine(), w.At("state")), folders.New(w.Machine(), w.At("state"))
	seen := func(want ...string) {
		t.Helper()
		list, err := ours.Folders(t.Context())
		w.Must(err)
		var got []string
		for _, f := range list {
			got = append(got, f.Seen...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("noted: %q, want %q", got, want)
		}
	}
	note, err := ours.NoteNew(t.Context(), w.At("elsewhere/a.jsonl"))
	w.Must(err)
	seen("a.jsonl")
	_, err = theirs.NoteNew(t.Context(), w.At("elsewhere/a.jsonl"))
	w.Must(err)
	w.Must(theirs.NoteFolder(t.Context(), w.At("elsewhere/b.jsonl")))
	w.Must(note.TakeBack(t.Context()))
	seen("a.jsonl", "b.jsonl")
	alone, err := ours.NoteNew(t.Context(), w.At("alone/c.jsonl"))
	w.Must(err)
	w.Must(alone.TakeBack(t.Context()))
	w.Must(alone.TakeBack(t.Context())) // nothing is left to take
	seen("a.jsonl", "b.jsonl")
	again, err := ours.NoteNew(t.Context(), w.At("alone/c.jsonl"))
	w.Must(err)
	seen("c.jsonl", "a.jsonl", "b.jsonl")
	w.Must(again.TakeBack(t.Context()))

	// A folder that had been forgotten is forgotten again.
	forgotten := []place.NotedFolder{{Folder: w.At("alone"), Forgotten: true}}
	w.Must(ours.ChangeFolders(t.Context(), func([]place.NotedFolder) []place.NotedFolder { return forgotten }))
	again, err = ours.NoteNew(t.Context(), w.At("alone/c.jsonl"))
	w.Must(err)
	w.Must(again.TakeBack(t.Context()))
	list, err := ours.Folders(t.Context())
	w.Must(err)
	if len(list) != 1 || !list[0].Forgotten || len(list[0].Seen) != 0 {
		t.Errorf("noted: %+v", list)
	}
}
