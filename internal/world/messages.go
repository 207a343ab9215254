package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// User appends a message of the user.
func (w *World) User(s *store.Session, text string) session.EntryID {
	w.Helper()
	return w.Say(s, "user", text).ID
}

// Answer appends an answer of the model.
func (w *World) Answer(s *store.Session, text string) session.EntryID {
	w.Helper()
	return w.Say(s, "assistant", text).ID
}

// Say appends a message.
func (w *World) Say(s *store.Session, role, text string) store.Appended {
	w.Helper()
	a, err := s.AppendMessage(w.Context(), Message(role, text))
	w.Must(err)
	return a
}

// Message returns a message in the format of most agents.
func Message(role, text string) []byte {
	quoted, _ := json.Marshal(text) // a string: it cannot fail
	return fmt.Appendf(nil, `{"role":%q,"content":%s}`, role, quoted)
}

// Log returns the content of a session's log as pi and omp write it: a header and lines.
func Log(id, cwd string, lines ...string) string {
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-02-16T10:20:00.000Z","cwd":%q}`+"\n", id, cwd) +
		strings.Join(lines, "\n") + "\n"
}

// Said returns the record of a user's message as pi and omp write it.
func Said(id, parent, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":%q}}`, id, parent, text)
}

// Messages returns the messages that the model would see at the leaf, as JSON.
func (w *World) Messages(s *store.Session, opt store.ContextOptions) []string {
	w.Helper()
	c, err := s.Context(w.Context(), s.Leaf(), opt)
	w.Must(err)
	var list []string
	for m, err := range c.Messages() {
		w.Must(err)
		list = append(list, string(m.JSON))
	}
	return list
}

// Texts returns the contents of the messages that the model would see at the leaf.
func (w *World) Texts(s *store.Session) []string {
	w.Helper()
	list := []string{}
	for _, m := range w.Messages(s, store.ContextOptions{}) {
		var v struct{ Content, Summary any }
		w.Must(json.Unmarshal([]byte(m), &v))
		text := fmt.Sprint(v.Content)
		if v.Summary != nil {
			text = fmt.Sprint(v.Summary)
		}
		list = append(list, text)
	}
	return list
}

// Seen opens the session again and returns what the model would see.
func (w *World) Seen(path string) []string {
	w.Helper()
	s, err := w.Open(w.Context(), path, store.OpenOptions{})
	w.Must(err)
	defer s.Close()
	return w.Texts(s)
}

// Same compares lists.
func (w *World) Same(got, want []string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("got\n  %q\nwant\n  %q", got, want)
	}
}

// MemoryEqualsDisk compares the entries of a session with those of its log.
func (w *World) MemoryEqualsDisk(s *store.Session) {
	w.Helper()
	r, err := w.Open(w.Context(), s.Path(), store.OpenOptions{Dialect: s.Dialect()})
	w.Must(err)
	defer r.Close()
	a, b := s.Tree(), r.Tree()
	if a.Len() != b.Len() {
		w.Fatalf("%d entries in memory, %d in the log", a.Len(), b.Len())
	}
	for i := range a.Len() {
		x, y := a.At(i), b.At(i)
		if x.ID != y.ID || x.Parent != y.Parent || x.Span != y.Span || x.Line != y.Line || x.Kind != y.Kind {
			w.Fatalf("entry %d: %+v in memory, %+v in the log", i, x, y)
		}
		rx, err := x.Raw()
		w.Must(err)
		ry, err := y.Raw()
		w.Must(err)
		if !bytes.Equal(rx, ry) {
			w.Fatalf("entry %d: %s in memory, %s in the log", i, rx, ry)
		}
	}
}
