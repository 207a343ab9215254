package rpc

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func getLeafID(_ *call, s *store.Session) ([]byte, error) {
	return quoteOrNull(string(s.Leaf())), nil
}

func getLeafEntry(c *call, s *store.Session) ([]byte, error) {
	return c.entryOrNull(s, func(t *session.Tree) (session.Entry, bool) { return t.Leaf() })
}

type idParams struct {
	ID *string `json:"id"`
}

func getEntry(c *call, p idParams) ([]byte, error) {
	var w wanted
	id := need(&w, "id", p.ID)
	if w.err != nil {
		return nil, w.err
	}
	return c.entryOrNull(c.open.s, func(t *session.Tree) (session.Entry, bool) { return t.Lookup(session.EntryID(id)) })
}

// entryOrNull gives the entry that is found, null where there is none.
func (c *call) entryOrNull(s *store.Session, find func(*session.Tree) (session.Entry, bool)) ([]byte, error) {
	text := []byte(null)
	err := s.View(func(t *session.Tree) (err error) {
		if e, ok := find(t); ok {
			text, err = s.EntryJSON(c.ctx, e)
		}
		return err
	})
	return text, err
}

type parentParams struct {
	ParentID *string `json:"parentId"`
}

// getChildren compares what entries say, as the agents do: the children of an entry that does not exist are found too.
func getChildren(c *call, p parentParams) ([]byte, error) {
	parent := session.EntryID(or(p.ParentID, ""))
	return c.entries(func(t *session.Tree, yield func(session.Entry) error) error {
		if p.ParentID != nil && parent == "" {
			return nil
		}
		for e := range t.Entries() {
			if e.Parent == parent && current(t, e) {
				if err := yield(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// current says whether an entry is the one that its id means: of several the last.
func current(t *session.Tree, e session.Entry) bool {
	found, ok := t.Lookup(e.ID)
	return ok && found.Index == e.Index
}

// entries makes a list of entries.
func (c *call) entries(each func(t *session.Tree, yield func(session.Entry) error) error) ([]byte, error) {
	list := [][]byte{}
	err := c.open.s.View(func(t *session.Tree) error {
		return each(t, func(e session.Entry) error {
			text, err := c.open.s.EntryJSON(c.ctx, e)
			list = append(list, text)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return array(list), nil
}

type fromParams struct {
	FromID *string `json:"fromId"`
}

// getBranch gives nothing for an entry that is not there, as the agents do.
func getBranch(c *call, p fromParams) ([]byte, error) {
	return c.entries(func(t *session.Tree, yield func(session.Entry) error) error {
		from := t.LeafID()
		if p.FromID != nil {
			from = session.EntryID(*p.FromID)
			if _, ok := t.Lookup(from); !ok {
				return nil
			}
		}
		path, err := t.Path(from)
		if err != nil {
			return err
		}
		for _, e := range path.Entries() {
			if err := yield(e); err != nil {
				return err
			}
		}
		return nil
	})
}

func getEntries(c *call, _ *store.Session) ([]byte, error) {
	return c.entries(func(t *session.Tree, yield func(session.Entry) error) error {
		for e := range t.Entries() {
			if err := yield(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// level is one level of the tree that is being written: siblings, and the next of them.
type level struct {
	nodes []session.Entry
	next  int
	label string // of the node that they are the children of
}

// getTree writes the tree without recursion: a session of a million entries is a million levels deep.
func getTree(c *call, s *store.Session) ([]byte, error) {
	text := []byte{'['}
	err := s.View(func(t *session.Tree) error {
		stack := []level{{nodes: t.Roots()}}
		for {
			top := &stack[len(stack)-1]
			if top.next == len(top.nodes) {
				text = append(text, ']')
				if len(stack) == 1 {
					return nil
				}
				if top.label != "" {
					text = append(append(text, `,"label":`...), quote(top.label)...)
				}
				text = append(text, '}')
				stack = stack[:len(stack)-1]
				continue
			}
			e := top.nodes[top.next]
			if top.next++; top.next > 1 {
				text = append(text, ',')
			}
			entry, err := s.EntryJSON(c.ctx, e)
			if err != nil {
				return err
			}
			text = append(append(text, `{"entry":`...), entry...)
			text = append(text, `,"children":[`...)
			children, err := oldestFirst(t, e)
			if err != nil {
				return err
			}
			stack = append(stack, level{nodes: children, label: t.Label(e.ID)})
		}
	})
	return text, err
}

// oldestFirst gives the children of an entry by their times; those without a time stay where they are.
func oldestFirst(t *session.Tree, e session.Entry) ([]session.Entry, error) {
	if !current(t, e) {
		return nil, nil // its children are those of the entry that its id means
	}
	list := t.Children(e.ID)
	if len(list) < 2 {
		return list, nil
	}
	type timed struct {
		e  session.Entry
		at int64
		ok bool
	}
	order := make([]timed, len(list))
	for i, child := range list {
		at, err := child.Time()
		if err != nil {
			return nil, err
		}
		order[i].e = child
		order[i].at, order[i].ok = at.Millis()
	}
	slices.SortStableFunc(order, func(a, b timed) int {
		switch {
		case !a.ok || !b.ok || a.at == b.at:
			return 0
		case a.at < b.at:
			return -1
		}
		return 1
	})
	for i := range order {
		list[i] = order[i].e
	}
	return list, nil
}

func getHeader(_ *call, s *store.Session) ([]byte, error) {
	if h := s.Header(); h.Raw != nil {
		return h.Raw, nil
	}
	return null, nil
}

func getLabel(c *call, p idParams) ([]byte, error) {
	var w wanted
	id := need(&w, "id", p.ID)
	if w.err != nil {
		return nil, w.err
	}
	label := ""
	err := c.open.s.View(func(t *session.Tree) error {
		label = t.Label(session.EntryID(id))
		return nil
	})
	return quoteOrNull(label), err
}

func getSessionName(_ *call, s *store.Session) ([]byte, error) {
	name, err := s.Name()
	return quoteOrNull(name), err
}

func getSessionFile(_ *call, s *store.Session) ([]byte, error) { return quoteOrNull(s.Path()), nil }

func getSessionID(_ *call, s *store.Session) ([]byte, error) { return quote(string(s.ID())), nil }

// getSessionDir is empty, not null, for a session in memory: so the agents have it.
func getSessionDir(_ *call, s *store.Session) ([]byte, error) { return quote(s.Dir()), nil }

func getCWD(_ *call, s *store.Session) ([]byte, error) { return quote(s.CWD()), nil }

func isPersisted(_ *call, s *store.Session) ([]byte, error) {
	return strconv.AppendBool(nil, s.Path() != ""), nil
}

type contextParams struct {
	Session *string            `json:"session"`
	Entries *[]json.RawMessage `json:"entries"`
	LeafID  json.RawMessage    `json:"leafId"`
	Dialect *string            `json:"dialect"`
}

// buildSessionContext is for a session, or for a list of entries that is in none. A leaf that is null is the place before
// the first entry; one that is not there means the last entry.
func buildSessionContext(c *call, p contextParams) ([]byte, error) {
	var leaf *session.EntryID
	switch {
	case p.LeafID == nil:
	case given(p.LeafID) == nil:
		leaf = new(session.EntryID)
	default:
		if json.Unmarshal(p.LeafID, &leaf) != nil {
			return nil, badParams(`parameter "leafId": must be a string or null`)
		}
		if *leaf == "" {
			leaf = nil
		}
	}
	if c.open != nil {
		s := c.open.s
		at := s.Leaf()
		if leaf != nil {
			at = *leaf
		}
		return contextJSON(s.Context(c.ctx, at, store.ContextOptions{FallBack: true}))
	}
	var w wanted
	entries := w.list("entries", p.Entries)
	if w.err != nil {
		return nil, w.err
	}
	opt, err := c.options(place{Dialect: p.Dialect})
	if err != nil {
		return nil, err
	}
	return contextJSON(c.store.ContextOf(opt.Dialect, entries, leaf, store.ContextOptions{}))
}

func contextJSON(c *session.Context, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	text := []byte(`{"messages":[`)
	first := true
	for m, err := range c.Messages() {
		if err != nil {
			return nil, err
		}
		if !first {
			text = append(text, ',')
		}
		first = false
		text = append(text, m.JSON...)
	}
	return append(c.AppendState(append(text, `],`...)), '}'), nil
}
