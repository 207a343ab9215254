package wire

import (
	"cmp"

	"github.com/treeline-dev/treeline/dialect/unread"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
)

// Session is a session that was created or changed. leafId is null before the first entry, created where the header has
// no time, parentSession absent without a parent.
type Session struct {
	ID      session.ID       `json:"id"`
	Path    string           `json:"path"`
	Dialect string           `json:"dialect"`
	CWD     string           `json:"cwd"`
	Title   string           `json:"title"`
	Created *string          `json:"created"`
	Parent  string           `json:"parentSession,omitempty"`
	LeafID  *session.EntryID `json:"leafId"`
}

// NewSession describes the current state of a session.
func NewSession(s *store.Session) (Session, error) {
	title, err := s.Title()
	if err != nil {
		return Session{}, err
	}
	h := s.Header()
	return Session{
		ID: h.ID, Path: s.Path(), Dialect: s.Dialect().Name(), CWD: h.CWD, Title: title, Created: utc(h.Timestamp), Parent: h.Parent,
		LeafID: optional(s.Leaf()),
	}, nil
}

// Appended acknowledges an entry. parentId is null for a root. foreign is the number of entries that other programs wrote in
// between. outcome says how the entry was placed next to them, and is absent if there are none.
type Appended struct {
	ID      session.EntryID  `json:"id"`
	Parent  *session.EntryID `json:"parentId"`
	Durable bool             `json:"durable"`
	Foreign int              `json:"foreign"`
	Outcome store.Policy     `json:"outcome,omitempty"`
}

// NewAppended returns the acknowledgement of an append to s.
func NewAppended(s *store.Session, done store.Appended) Appended {
	j := Appended{ID: done.ID, Durable: done.Durable, Foreign: done.Foreign, Outcome: done.Outcome}
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

// NewLabel returns the label of an entry.
func NewLabel(id session.EntryID, label string) Label { return Label{id, optional(label)} }

// Trashed is a session in the trash. id is its name there, session the session's own id: a session can be in the trash twice.
// title is the first prompt if the session has no title.
type Trashed struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	Path    string `json:"path"`
	Dialect string `json:"dialect"`
	CWD     string `json:"cwd"`
	Title   string `json:"title"`
	Size    int64  `json:"size"`
	Removed string `json:"removed"`
}

// NewTrashed returns one session in the trash.
func NewTrashed(t trash.Item) Trashed {
	return Trashed{
		ID: t.ID, Session: string(t.Session), Path: t.From, Dialect: t.Dialect, CWD: t.CWD, Title: cmp.Or(t.Title, t.Prompt),
		Size: t.Size, Removed: UTC(t.Time),
	}
}

// Row is a session in a list. prompt is the user's first prompt. messages is null if only the two ends of the file were read,
// created if the header has no time. origin is the machine that a session of an archive comes from. The members active to has
// are absent for a session that is not in the catalogue. depth is present only in a list of forks: the number of ancestors
// above the session.
type Row struct {
	ID       session.ID `json:"id"`
	Dialect  string     `json:"dialect"`
	Path     string     `json:"path"`
	Origin   string     `json:"origin,omitempty"`
	CWD      string     `json:"cwd"`
	Title    string     `json:"title"`
	Prompt   string     `json:"prompt"`
	Messages *int       `json:"messages"`
	Size     int64      `json:"size"`
	Modified string     `json:"modified"`
	Created  *string    `json:"created"`
	Parent   string     `json:"parentSession,omitempty"`
	*Known
	Depth *int `json:"depth,omitempty"`
}

// Known is what the catalogue adds to a row. active is the time of the last entry, not that of the file. cost is in
// dollars, as far as the agent counted it.
type Known struct {
	Active   *string  `json:"active"`
	Entries  int      `json:"entries"`
	Branches int      `json:"branches"`
	Problems int      `json:"problems"`
	Models   []string `json:"models"`
	Tokens   Tokens   `json:"tokens"`
	Cost     float64  `json:"cost"`
	Has      []string `json:"has"`
}

// Tokens sums what the responses report. total is the agents' own figure, which need not be the sum of the others.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Total      int64 `json:"total"`
}

// RowCursor returns the position of a session in a list.
func RowCursor(r *place.Row) Cursor { return Cursor{When: r.When(), Path: r.Path} }

// NewRow returns a row of a list, without a depth.
func NewRow(r *place.Row) Row {
	j := Row{
		ID: r.ID, Dialect: r.Dialect.Name(), Path: r.Path, Origin: r.Source.Origin, CWD: r.CWD, Title: r.Heading(), Prompt: cmp.Or(r.Prompt, r.Command), Size: r.Log.Size,
		Modified: UTC(r.Log.Time), Created: utc(r.Created), Parent: r.Parent,
	}
	if r.Messages >= 0 {
		j.Messages = &r.Messages
	}
	if k := r.Known; k != nil {
		j.Known = &Known{
			Active: utc(k.Active), Entries: k.Entries, Branches: k.Branches, Problems: k.Problems, Tokens: Tokens(k.Tokens),
			Models: append([]string{}, k.Models...), Cost: k.Cost, Has: append([]string{}, k.Has.Names()...),
		}
	}
	return j
}

// Source is a place where treeline looks for sessions. newest is null if it has none. dialect is that of the agent it belongs
// to or, in any other place, that of most sessions there; null if it is empty. dialects are those of the sessions there. origin
// is the machine of a source in an archive. unread is the name of an agent that was found there and whose sessions cannot be
// read yet.
type Source struct {
	Dialect  *string  `json:"dialect"`
	Dialects []string `json:"dialects"`
	Path     string   `json:"path"`
	Origin   string   `json:"origin,omitempty"`
	Why      string   `json:"why"`
	Exists   bool     `json:"exists"`
	Sessions int      `json:"sessions"`
	Size     int64    `json:"size"`
	Newest   *string  `json:"newest"`
	Unread   string   `json:"unread,omitempty"`
}

// CannotRead says why the folder of an agent without a dialect is shown.
const CannotRead = "found, cannot be read yet"

// NewUnread returns the folder of an agent whose sessions cannot be read yet.
func NewUnread(a unread.Agent) Source {
	return Source{Dialects: []string{}, Path: a.Path, Why: CannotRead, Exists: true, Unread: a.Name}
}

// NewSource returns a place and what it contains.
func NewSource(s place.SourceInfo) Source {
	j := Source{
		Dialects: []string{}, Path: s.Root.Sessions, Origin: s.Origin, Why: string(s.Why), Exists: s.Exists, Sessions: s.Sessions, Size: s.Bytes,
	}
	for _, d := range s.Dialects {
		j.Dialects = append(j.Dialects, d.Name())
	}
	if name := s.Dialect.Name(); !s.Assumed {
		j.Dialect = &name
	} else if len(j.Dialects) > 0 {
		j.Dialect = &j.Dialects[0]
	}
	if !s.Newest.IsZero() {
		newest := UTC(s.Newest)
		j.Newest = &newest
	}
	return j
}
