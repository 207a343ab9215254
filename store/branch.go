package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store/lists"
)

// BranchOptions say how the leaf moves.
type BranchOptions struct {
	// Durable: the move survives a restart, also in the agent's own program. An entry that the model does not see is appended at the target
	// and becomes the leaf. It creates the log if its creation is deferred. Without Durable the move is forgotten unless something is
	// appended.
	Durable bool
}

// Branch moves the leaf to an entry: what is appended next follows it. The entries after it stay, as another branch. "" is
// the place before the first entry.
func (s *Session) Branch(ctx context.Context, id session.EntryID, opt BranchOptions) (Appended, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.canBranch(id)
	if err != nil {
		return Appended{}, err
	}
	if !opt.Durable {
		if err := w.builder.SetLeaf(id); err != nil {
			return Appended{}, err
		}
		w.tip, w.moved = id, true
		w.opt.tell(Event{Kind: EventTree, Path: s.at.Path, Entry: id})
		return Appended{ID: id}, nil
	}
	if err := s.endDeferral(ctx); err != nil {
		return Appended{}, err
	}
	// Some formats have an entry that moves the leaf. In others the leaf is the last entry of the file: there a custom entry below the
	// target makes the agent's program resume at it (LeafType is the type of that entry).
	var body session.Body = session.Leaf{Target: id}
	at := &w.tip
	kind := w.d.Habits().LeafType
	if kind != "" {
		body, at = session.Custom{Type: kind}, &id
	}
	done, err := s.append(ctx, body, nil, at)
	if err == nil && kind != "" { // append reports a Leaf itself
		w.opt.tell(Event{Kind: EventTree, Path: s.at.Path, Entry: id})
	}
	return done, err
}

// HasLeaves reports whether the format has entries that move the leaf. If so, the agent's own program writes one for each branch; otherwise
// a branch is forgotten unless something is appended.
func (s *Session) HasLeaves() bool {
	w, ok := s.dialect.(dialect.Writer)
	return ok && w.Habits().Branches && w.Habits().LeafType == ""
}

// canBranch waits as settled does, and reports why the leaf cannot move to an entry, if it cannot.
func (s *Session) canBranch(id session.EntryID) (*writing, error) {
	w, err := s.settled()
	reacher, ok := s.dialect.(dialect.Reacher)
	if err == nil && !w.d.Habits().Branches && !ok {
		advice := ""
		if _, ok := s.dialect.(dialect.Editor); ok {
			advice = "; fork it at that entry instead"
		}
		err = fmt.Errorf("a branch in a session of %s is %w%s", s.dialect.Name(), ErrUnsupported, advice)
	}
	if err == nil && id != "" {
		err = s.canLead(id)
	}
	if err == nil && ok {
		err = s.named(reacher.Reach(s.tree, id))
	}
	return w, err
}

// canLead returns why an entry cannot be the leaf, nil if it can.
func (s *Session) canLead(id session.EntryID) error {
	e, err := s.tree.Get(id)
	if _, ok := s.dialect.(dialect.Besider); err != nil || !ok {
		return err
	}
	raw, err := e.Raw()
	if err == nil && dialect.IsBeside(s.dialect, raw) {
		err = s.refuse("entry %q is not part of the conversation: nothing can follow it", id)
	}
	return err
}

// ResetLeaf moves the leaf before the first entry: what is appended next becomes a new root.
func (s *Session) ResetLeaf(ctx context.Context, opt BranchOptions) error {
	_, err := s.Branch(ctx, "", opt)
	return err
}

// BranchWithSummary moves the leaf to an entry and appends a summary of the branch that is left. The summary's From is set
// as the agent sets it.
func (s *Session) BranchWithSummary(ctx context.Context, id session.EntryID, b session.BranchSummary) (Appended, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.canBranch(id)
	if err != nil {
		return Appended{}, err
	}
	// Some agents name the entry that the branch goes on from, others the old leaf.
	if b.From = id; !w.d.Habits().FromTarget {
		b.From = s.tree.LeafID()
	}
	b.From = cmp.Or(b.From, "root") // the place before the first entry
	done, err := s.append(ctx, b, nil, &id)
	if err == nil {
		w.opt.tell(Event{Kind: EventTree, Path: s.at.Path, Entry: done.ID})
	}
	return done, err
}

// Label names an entry; an empty label removes its name.
func (s *Session) Label(ctx context.Context, target session.EntryID, label string) (Appended, error) {
	return s.label(ctx, target, label, nil)
}

// label is Label; from is as in append.
func (s *Session) label(ctx context.Context, target session.EntryID, label string, from []byte) (Appended, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.writable()
	if err != nil {
		return Appended{}, err
	}
	if !w.d.Habits().Labels {
		return Appended{}, fmt.Errorf("a label in a session of %s is %w: the format has none", s.dialect.Name(), ErrUnsupported)
	}
	if _, err := s.tree.Get(target); err != nil {
		return Appended{}, err
	}
	return s.append(ctx, session.Label{Target: target, Label: label}, from, nil)
}

// Compact is Append for a compaction. Where dialect.Habits.KeepsByRepeating is set, one with FirstKept is ErrUnsupported.
func (s *Session) Compact(ctx context.Context, c session.Compaction) (Appended, error) {
	return s.Append(ctx, c)
}

// AppendRecord appends an entry that the caller has as the dialect's own JSON. The entry gets a new id, parent and time; everything else
// stays.
func (s *Session) AppendRecord(ctx context.Context, record []byte) (Appended, error) {
	e, err := lists.One(s.dialect, record)
	var body session.Body
	if err == nil {
		body, err = e.Body()
	}
	if err != nil {
		return Appended{}, logtree.Named(s.Path(), err)
	}
	if b, ok := body.(session.Label); ok { // labels have rules of their own
		done, err := s.label(ctx, b.Target, b.Label, record)
		if errors.Is(err, session.ErrUnknownEntry) {
			err = logtree.Named(s.Path(), err)
		}
		return done, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.writable()
	if err != nil {
		return Appended{}, err
	}
	if _, opaque := body.(session.Opaque); opaque && e.Kind == session.KindMessage && !w.opt.Force {
		return Appended{}, s.refuse("the entry has no message")
	}
	return s.append(ctx, body, record, nil)
}
