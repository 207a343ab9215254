package rpc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// The getters return what the agents' own methods return, with null for undefined. They read the tree in memory under the session's lock;
// only the text of entries is read from the log.

func getLeafID(_ *call, s *store.Session) (*session.EntryID, error) { return optional(s.Leaf()), nil }

func getLeafEntry(c *call, s *store.Session) (raw[*agentEntry], error) {
	return c.entryOrNull(s, (*session.Tree).Leaf)
}

// idParams are the parameters of methods that name an entry.
type idParams struct {
	ID *string `json:"id" need:"" doc:"the id of an entry"`
}

func getEntry(c *call, p idParams) (raw[*agentEntry], error) {
	return c.entryOrNull(c.open.s, func(t *session.Tree) (session.Entry, bool) { return t.Lookup(session.EntryID(*p.ID)) })
}

// entryOrNull returns the entry that find finds, or null.
func (c *call) entryOrNull(s *store.Session, find func(*session.Tree) (session.Entry, bool)) (raw[*agentEntry], error) {
	text := []byte(null)
	err := s.View(func(t *session.Tree) (err error) {
		if e, ok := find(t); ok {
			text, err = s.EntryJSON(c.outer, e)
		}
		return err
	})
	return text, err
}

// In parentParams, a missing parentId selects the entries without a parent.
type parentParams struct {
	ParentID *string `json:"parentId" doc:"the id of an entry; null means the entries without a parent"`
}

// getChildren compares the parents that entries name, as the agents' programs do. So it also finds the children of an entry that does not
// exist.
func getChildren(c *call, p parentParams) (raw[[]agentEntry], error) {
	return c.entries(func(t *session.Tree, yield func(session.Entry) bool) {
		// An empty id selects nothing: roots have the parent "", but are not its children.
		if p.ParentID != nil && *p.ParentID == "" {
			return
		}
		for e := range t.Entries() {
			if e.Parent == session.EntryID(or(p.ParentID, "")) && current(t, e) && !yield(e) {
				return
			}
		}
	})
}

// current reports whether an entry is the one that its id refers to: the last of several.
func current(t *session.Tree, e session.Entry) bool {
	found, ok := t.Lookup(e.ID)
	return ok && found.Index == e.Index
}

// entries makes a list of entries. No append can change the tree meanwhile. each must not call the session's methods, because they would
// wait forever.
func (c *call) entries(each func(t *session.Tree, yield func(session.Entry) bool)) (raw[[]agentEntry], error) {
	list := [][]byte{}
	err := c.open.s.View(func(t *session.Tree) (err error) {
		each(t, func(e session.Entry) bool {
			var text []byte
			text, err = c.open.s.EntryJSON(c.outer, e)
			list = append(list, text)
			return err == nil
		})
		return err
	})
	return arrayOf[agentEntry](list, err)
}

// In fromParams, a missing fromId means the leaf.
type fromParams struct {
	FromID *string `json:"fromId" doc:"the last entry of the path; the default is the leaf"`
}

// getBranch returns an empty list for an entry that does not exist, as in the agents' programs.
func getBranch(c *call, p fromParams) (raw[[]agentEntry], error) {
	return c.entries(func(t *session.Tree, yield func(session.Entry) bool) {
		path, err := t.Path(session.EntryID(or(p.FromID, string(t.LeafID()))))
		if err != nil {
			return // no such entry
		}
		for _, e := range path.Entries() {
			if !yield(e) {
				return
			}
		}
	})
}

// getEntries returns all entries in the order of the log, including several with the same id, as in the agents' programs.
func getEntries(c *call, _ *store.Session) (raw[[]agentEntry], error) {
	return c.entries(func(t *session.Tree, yield func(session.Entry) bool) { t.Entries()(yield) })
}

type treeParams struct {
	Flat bool `json:"flat" doc:"gives all nodes in one list, parents first, with id, parentId and depth instead of children"`
}

// level is one level of the tree that is being written: siblings, and the index of the next one.
type level struct {
	nodes []session.Entry
	next  int
	of    session.EntryID // the node that they are the children of
}

// getTree writes the tree without recursion: a session of a million entries is a million levels deep. Both forms have the
// same nodes in the same order.
func getTree(c *call, p treeParams) (raw[[]treeNode], error) {
	s, text := c.open.s, []byte{'['}
	err := s.View(func(t *session.Tree) error {
		label := func(id session.EntryID) {
			if label := t.Label(id); label != "" {
				text = append(append(text, `,"label":`...), quote(label)...)
			}
		}
		stack := []level{{nodes: t.Roots()}}
		// Each turn writes either the beginning of a node, or the end of a list of children and of the node that has them.
		for {
			top := &stack[len(stack)-1]
			if top.next == len(top.nodes) {
				stack = stack[:len(stack)-1]
				if len(stack) == 0 {
					return nil
				}
				if !p.Flat {
					text = append(text, ']')
					label(top.of)
					text = append(text, '}')
				}
				continue
			}
			e := top.nodes[top.next]
			top.next++
			if last := text[len(text)-1]; last != '[' {
				text = append(text, ',')
			}
			entry, err := s.EntryJSON(c.outer, e)
			if err != nil {
				return err
			}
			text = append(append(text, `{"entry":`...), entry...)
			if p.Flat {
				text = append(append(text, `,"id":`...), quote(string(e.ID))...)
				text = append(append(text, `,"parentId":`...), quoteOrNull(string(top.of))...)
				text = strconv.AppendInt(append(text, `,"depth":`...), int64(len(stack)-1), 10)
				label(e.ID)
				text = append(text, '}')
			} else {
				text = append(text, `,"children":[`...)
			}
			children, err := oldestFirst(t, e)
			if err != nil {
				return err
			}
			stack = append(stack, level{nodes: children, of: e.ID})
		}
	})
	return append(text, ']'), err
}

// oldestFirst returns the children of an entry by time, like the agents' getTree. Children with the same time or none stay in the order of
// the log.
func oldestFirst(t *session.Tree, e session.Entry) ([]session.Entry, error) {
	if !current(t, e) {
		return nil, nil // the children belong to the entry that the id refers to
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
	sorting.By(order, func(a, b timed) int {
		if !a.ok || !b.ok {
			return 0
		}
		return cmp.Compare(a.at, b.at)
	})
	for i := range order {
		list[i] = order[i].e
	}
	return list, nil
}

// getHeader returns the record byte for byte, or null if the file was empty.
func getHeader(_ *call, s *store.Session) (raw[*agentHeader], error) {
	if h := s.Header(); h.Raw != nil {
		return raw[*agentHeader](h.Raw), nil
	}
	return raw[*agentHeader](null), nil
}

// getLabel returns null for an entry that does not exist, as in the agents' programs.
func getLabel(c *call, p idParams) (*string, error) {
	label := ""
	err := c.open.s.View(func(t *session.Tree) error {
		label = t.Label(session.EntryID(*p.ID))
		return nil
	})
	return optional(label), err
}

func getSessionName(_ *call, s *store.Session) (*string, error) {
	name, err := s.Name()
	return optional(name), err
}

// getSessionFile returns null for a session in memory. It returns the path even while creation is deferred.
func getSessionFile(_ *call, s *store.Session) (*string, error) { return optional(s.Path()), nil }

func getSessionID(_ *call, s *store.Session) (session.ID, error) { return s.ID(), nil }

// getSessionDir returns "", not null, for a session in memory, as in the agents' programs.
func getSessionDir(_ *call, s *store.Session) (string, error) { return s.Dir(), nil }

func getCWD(_ *call, s *store.Session) (string, error) { return s.CWD(), nil }

// isPersisted returns true even while creation is deferred, as in the agents' programs.
func isPersisted(_ *call, s *store.Session) (bool, error) { return s.Path() != "", nil }

type contextParams struct {
	Entries *[]json.RawMessage `json:"entries" doc:"entries to use instead of a session"`
	seenParams
	dialectParam
}

// seenParams choose the leaf from which a context is seen.
type seenParams struct {
	LeafID json.RawMessage `json:"leafId" doc:"the entry to look from; null is the place before the first entry"`
	Whole  bool            `json:"whole" doc:"restore long texts that the agent's format cut; those that this server appended are whole in any case"`
}

// leaf returns the leaf to look from, or nil if the caller gives none. As in JavaScript, undefined means the session's leaf, null the
// position before the first entry, and a string an entry. To the agents, "" is undefined.
func (p seenParams) leaf() (leaf *session.EntryID, err error) {
	switch {
	case p.LeafID == nil:
		return nil, nil
	case given(p.LeafID) == nil:
		return new(session.EntryID), nil
	case json.Unmarshal(p.LeafID, &leaf) != nil:
		return nil, badParams(`parameter "leafId": must be a string or null`)
	case *leaf == "":
		return nil, nil
	}
	return leaf, nil
}

// options returns the options for a session's context. An unknown leaf means the last entry, as in the agents' programs.
func (p seenParams) options() store.ContextOptions {
	return store.ContextOptions{FallBack: true, Whole: p.Whole}
}

// buildSessionContext takes a session or a list of entries.
func buildSessionContext(c *call, p contextParams) (raw[agentContext], error) {
	leaf, err := p.leaf()
	if err != nil {
		return nil, err
	}
	if c.open != nil {
		s := c.open.s
		return contextJSON(s.Context(c.outer, or(leaf, s.Leaf()), p.options()))
	}
	if p.Entries == nil {
		return nil, missing("entries")
	}
	in, err := c.dialect(p.Dialect)
	if err != nil {
		return nil, err
	}
	return contextJSON(c.store.ContextOf(in.Dialect, records(*p.Entries), leaf, store.ContextOptions{}))
}

// contextJSON writes the context in the agent's own form. The messages are the bytes of the log. The state after them (models, thinking
// level, mode) is spelled by the dialect's rules.
func contextJSON(c *session.Context, err error) (raw[agentContext], error) {
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

// buildParts writes the context in the form that all agents share, with the problems of the log and of the context.
func buildParts(c *call, p seenParams) (raw[wire.PartsContext], error) {
	leaf, err := p.leaf()
	if err != nil {
		return nil, err
	}
	s, opt := c.open.s, p.options()
	var problems []session.Problem
	opt.Problem = func(p session.Problem) { problems = append(problems, p) }
	_ = s.View(func(t *session.Tree) error { // returns the error of the function, which is nil
		problems = append(problems, t.Problems()...)
		return nil
	})
	var b bytes.Buffer
	if err := wire.WriteParts(&b, treeline.Messages(c.outer, s, or(leaf, s.Leaf()), opt), &problems); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
