package wire

import (
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
)

// Session is a session that was created or changed. leafId is null before the first entry, parentSession absent
// without a parent.
type Session struct {
	ID      session.ID       `json:"id"`
	File    string           `json:"file"`
	Dialect string           `json:"dialect"`
	CWD     string           `json:"cwd"`
	Title   string           `json:"title"`
	Parent  string           `json:"parentSession,omitempty"`
	LeafID  *session.EntryID `json:"leafId"`
}

// NewSession gives what a session is now.
func NewSession(s *store.Session) (Session, error) {
	title, err := s.Name()
	if err != nil {
		return Session{}, err
	}
	h := s.Header()
	return Session{
		ID: h.ID, File: s.Path(), Dialect: s.Dialect().Name(), CWD: h.CWD, Title: title, Parent: h.Parent, LeafID: optional(s.Leaf()),
	}, nil
}

// Appended acknowledges an entry. parentId is null for a root. foreign is the number of entries that other programs
// wrote in between, and outcome what was done about them; it is absent where there were none.
type Appended struct {
	ID      session.EntryID  `json:"id"`
	Parent  *session.EntryID `json:"parentId"`
	Foreign int              `json:"foreign"`
	Outcome store.Policy     `json:"outcome,omitempty"`
}

// NewAppended gives the acknowledgement of an append to s.
func NewAppended(s *store.Session, done store.Appended) Appended {
	j := Appended{ID: done.ID, Foreign: done.Foreign, Outcome: done.Outcome}
	if e, ok := s.Tree().Lookup(done.ID); ok {
		j.Parent = optional(e.Parent)
	}
	return j
}

// Label is the label of an entry, null where it has none.
type Label struct {
	ID    session.EntryID `json:"id"`
	Label *string         `json:"label"`
}

// NewLabel gives the label of an entry.
func NewLabel(id session.EntryID, label string) Label { return Label{id, optional(label)} }

// Trashed is a session in the trash. id is its name there, session the session's own id: a session can be in the trash
// twice. title is the first prompt where the session has no title.
type Trashed struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	File    string `json:"file"`
	Dialect string `json:"dialect"`
	CWD     string `json:"cwd"`
	Title   string `json:"title"`
	Size    int64  `json:"size"`
	Removed string `json:"removed"`
}

// NewTrashed gives one session in the trash.
func NewTrashed(t trash.Item) Trashed {
	return Trashed{
		ID: t.ID, Session: string(t.Session), File: t.From, Dialect: t.Dialect, CWD: t.CWD, Title: orElse(t.Title, t.Prompt),
		Size: t.Size, Removed: UTC(t.Time),
	}
}
