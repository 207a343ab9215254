package store

import (
	"cmp"
	"context"
	"strings"

	"github.com/treeline-dev/treeline/session"
)

// Append adds an entry after the leaf and moves the leaf to it. The entry is encoded now: later changes to the body do
// not matter. Several goroutines may append at once: each entry follows the one before, and they share a write.
//
// The tree never runs ahead of the log: it has the entry only when the entry is written, as durable as the backend was asked to make it.
// While the creation of a new session's log is deferred, entries are in the tree and their Appended says that they are not durable. After a
// failed write, this and every later append returns its error until the session is opened again. An append that wrote nothing because
// another process held the log's lock for too long (backend.ErrLocked) may be tried again.
//
// Other processes may write to the log at the same time. What programs of this library write is always noticed, and dealt
// with by WriteOptions.Policy. Programs that take no lock are noticed by the size and identity of the file. What cannot be
// noticed is a program that takes no lock and replaces or cuts the file in the moment of our write; see package
// backend/file.
//
// Cancelling ctx ends the waiting for other writers; nothing was written then. An entry that shares its write with others
// cannot be cancelled.
func (s *Session) Append(ctx context.Context, body session.Body) (Appended, error) {
	if m, ok := body.(session.Message); ok {
		return s.AppendMessage(ctx, m.JSON) // the message names its role itself
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(ctx, body, nil, nil)
}

// append adds an entry and tells the observer of a compaction, before and after, and of an entry that moves the leaf. at, if
// set, is the entry's parent instead of the tip. from, if set, is a record that the caller has of the entry: members that
// the body does not know are taken over from it. The caller holds the lock.
func (s *Session) append(ctx context.Context, body session.Body, from []byte, at *session.EntryID) (Appended, error) {
	w, err := s.writable()
	if err != nil {
		return Appended{}, err
	}
	if ctx.Err() != nil {
		return Appended{}, context.Cause(ctx)
	}
	_, compacts := body.(session.Compaction)
	if compacts {
		if err := w.opt.ask(Event{Kind: EventBeforeCompaction, Path: s.at.Path, Entry: w.tip}); err != nil {
			return Appended{}, s.named(err)
		}
	}
	done, err := s.add(ctx, body, from, at)
	if err != nil {
		return done, err
	}
	if leaf, ok := body.(session.Leaf); ok {
		w.opt.tell(Event{Kind: EventTree, Path: s.at.Path, Entry: leaf.Target})
	}
	if compacts {
		w.opt.tell(Event{Kind: EventCompaction, Path: s.at.Path, Entry: done.ID})
	}
	return done, nil
}

// add proposes an entry and waits until it is written.
func (s *Session) add(ctx context.Context, body session.Body, from []byte, at *session.EntryID) (Appended, error) {
	w := s.w
	parent := w.tip
	if at != nil {
		parent = *at
	}
	group, err := s.propose(ctx, body, from, parent)
	if err != nil {
		return Appended{}, err
	}
	first := group[0] // group is valid only until the lock is released
	first.fixed, first.moved = at != nil, w.moves() || at != nil
	if !w.created {
		return s.appendDeferred(ctx, group)
	}
	w.tip = next(group[len(group)-1])
	done, err := s.enqueue(group...)
	const most = 64 << 10 // bytes of memory that are kept for the next record
	// The tree may hold the whole record, and one that was adopted may share memory with the caller's.
	if p := first; err == nil && p.whole == nil && p.from == nil && cap(p.record) <= most {
		*p = proposal{record: p.record}
		w.free = p
	}
	return done, err
}

// appendAll appends entries one after the other, as one write, and gives what became of the last. The caller holds the lock.
func (s *Session) appendAll(ctx context.Context, bodies []session.Body) (last Appended, err error) {
	w, err := s.writable()
	if err != nil {
		return Appended{}, err
	}
	if len(bodies) == 1 || !w.created {
		for _, body := range bodies {
			if last, err = s.append(ctx, body, nil, nil); err != nil {
				break
			}
		}
		return last, err
	}
	var group []*proposal
	tip := w.tip
	for _, body := range bodies {
		more, err := s.propose(ctx, body, nil, tip)
		if err != nil {
			return Appended{}, err
		}
		group = append(group, more...)
		tip = next(group[len(group)-1])
	}
	group[0].moved = w.moves()
	w.tip = tip
	return s.enqueue(group...)
}

// next returns the parent of the entry after a proposal.
func next(p *proposal) session.EntryID {
	if leaf, ok := p.entry.Body.(session.Leaf); ok {
		return leaf.Target // entries do not follow one that moves the leaf
	}
	if p.beside {
		return p.entry.Parent
	}
	return cmp.Or(p.given, p.entry.ID)
}

// AppendMessage appends a message in the dialect's own JSON. The bytes are copied.
func (s *Session) AppendMessage(ctx context.Context, message []byte) (Appended, error) {
	body := session.Message{JSON: message, Role: s.dialect.Codec().Role(message)}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(ctx, body, nil, nil)
}

// AppendThinkingLevelChange sets how hard the model thinks from here on.
func (s *Session) AppendThinkingLevelChange(ctx context.Context, level string) (Appended, error) {
	return s.Append(ctx, session.ThinkingLevelChange{Level: level})
}

// AppendModelChange sets the model of a role ("" is the default one) from here on, as "provider/id". A *RefusedError without a modelID.
func (s *Session) AppendModelChange(ctx context.Context, role, provider, modelID string) (Appended, error) {
	return s.Append(ctx, session.ModelChange{Role: role, Provider: provider, ModelID: modelID, Model: strings.TrimPrefix(provider+"/"+modelID, "/")})
}

// AppendCustom keeps state of an extension that the model does not see. data is JSON, or nil.
func (s *Session) AppendCustom(ctx context.Context, kind string, data []byte) (Appended, error) {
	return s.Append(ctx, session.Custom{Type: kind, Data: data})
}

// AppendCustomMessage adds a message of an extension, which the model sees and, with Display set, people too. Content is
// JSON: a string or a list of blocks.
func (s *Session) AppendCustomMessage(ctx context.Context, m session.CustomMessage) (Appended, error) {
	return s.Append(ctx, m)
}

// AppendSessionInfo names the session by an entry.
func (s *Session) AppendSessionInfo(ctx context.Context, name string) (Appended, error) {
	return s.Append(ctx, session.SessionInfo{Name: name})
}

// AppendModeChange switches the agent's mode. data is JSON, or nil.
func (s *Session) AppendModeChange(ctx context.Context, mode string, data []byte) (Appended, error) {
	return s.Append(ctx, session.ModeChange{Mode: mode, Data: data})
}

// AppendTTSRInjection records rules that were injected.
func (s *Session) AppendTTSRInjection(ctx context.Context, rules []string) (Appended, error) {
	return s.Append(ctx, session.TTSRInjection{Rules: rules})
}

// AppendSessionInit records what a subagent was started with.
func (s *Session) AppendSessionInit(ctx context.Context, init session.SessionInit) (Appended, error) {
	return s.Append(ctx, init)
}
