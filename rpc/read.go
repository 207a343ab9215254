package rpc

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// The getters answer what the agents' own methods return in the same case, null where those return undefined. They
// look at the tree in memory under the session's lock; only the text of entries is read from the log.
func getLeafID(_ *call, s *store.Session) ([]byte, error) {
	return quoteOrNull(string(s.Leaf())), nil
}

func getLeafEntry(c *call, s *store.Session) ([]byte, error) {
	return c.entryOrNull(s, func(t *session.Tree) (session.Entry, bool) { return t.Leaf() })
}

// idParams are those of methods that name an entry.
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

// parentParams: no parentId means the entries that have no parent.
type parentParams struct {
	ParentID *string `json:"parentId"`
}

// getChildren compares what entries say, as the agents do: the children of an entry that does not exist are found too.
func getChildren(c *call, p parentParams) ([]byte, error) {
	parent := session.EntryID(or(p.ParentID, ""))
	return c.entries(func(t *session.Tree, yield func(session.Entry) error) error {
		// An empty text is no id, and the roots, whose Parent is also "", must not be given for it.
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
// They are collected while no append can change the tree. each must not call the session's methods: it would wait
// for itself.
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

// fromParams: no fromId means the leaf.
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

// getEntries gives all entries in the order of the file, also those that another entry with the same id has
// replaced: the agents list both.
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
		// Each turn of the loop writes one node's beginning, or the end of a list of children and with it of the
		// node above: what a recursion would do on its way back.
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
// The order is that of the agents' getTree. It is stable: siblings of one time stay in the order of the file.
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

// getHeader answers with the record as it stands, also with members that we do not know. A file that was empty has
// none.
func getHeader(_ *call, s *store.Session) ([]byte, error) {
	if h := s.Header(); h.Raw != nil {
		return h.Raw, nil
	}
	return null, nil
}

// getLabel answers null also for an entry that is not there, as the agents do.
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

// getSessionName is the name that counts now, wherever the dialect keeps it.
func getSessionName(_ *call, s *store.Session) ([]byte, error) {
	name, err := s.Name()
	return quoteOrNull(name), err
}

// getSessionFile is null for a session that is nowhere but in memory. One that is deferred has a path before there
// is a file.
func getSessionFile(_ *call, s *store.Session) ([]byte, error) { return quoteOrNull(s.Path()), nil }

func getSessionID(_ *call, s *store.Session) ([]byte, error) { return quote(string(s.ID())), nil }

// getSessionDir is empty, not null, for a session in memory: so the agents have it.
func getSessionDir(_ *call, s *store.Session) ([]byte, error) { return quote(s.Dir()), nil }

func getCWD(_ *call, s *store.Session) ([]byte, error) { return quote(s.CWD()), nil }

// isPersisted says that the session is meant to be in a file. With a deferred one that file may not exist yet; the
// agents answer the same.
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
	// Three cases that JavaScript tells apart: left out (the leaf), null (before the first entry), a text. An
	// empty text is to the agents as good as none.
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
		// FallBack: the agents take the last entry for a leaf that they do not find; a client that counts on it
		// must not get an error here.
		return contextJSON(s.Context(c.ctx, at, store.ContextOptions{FallBack: true}))
	}
	var w wanted
	entries := w.list("entries", p.Entries)
	if w.err != nil {
		return nil, w.err
	}
	opt, err := c.options(whereParams{Dialect: p.Dialect})
	if err != nil {
		return nil, err
	}
	return contextJSON(c.store.ContextOf(opt.Dialect, entries, leaf, store.ContextOptions{}))
}

// contextJSON writes the context as the agent's own program gives it. The messages are the bytes of the log; the
// state behind them (models, thinking level, mode) is spelled by the dialect's rules.
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
