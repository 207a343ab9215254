package store

import (
	"bytes"
	"context"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// ContextOptions change how a context is computed; the zero value is the agent's own way.
type ContextOptions struct {
	// DropFailed leaves out turns that failed, StripDangling calls and results that lack the other; LLM gives the messages in the form
	// that goes to a provider. See session.ContextOptions.
	DropFailed, StripDangling, LLM bool
	// NoBlobs leaves references to blobs as they are.
	NoBlobs bool
	// Whole restores texts that the agent's format cut; otherwise the messages are those that the agent would send. Entries that were
	// appended since the session was opened are whole in any case.
	Whole bool
	// FallBack uses the last entry if the leaf is unknown.
	FallBack bool
	// Problem, if set, is called for missing blobs, for cut texts, and for what the agent's program does not show the model.
	Problem func(session.Problem)
	// Here, if set, is where the session goes on. Some agents tell the model when that is not where it was before: their message then
	// precedes all others.
	Here *dialect.Here
}

// Context computes what the model would see at leaf; "" is the place before the first entry. Its messages are read when
// they are asked for, and do not change when the session goes on.
func (s *Session) Context(ctx context.Context, leaf session.EntryID, opt ContextOptions) (*session.Context, error) {
	o := session.ContextOptions{
		DropFailed: opt.DropFailed, StripDangling: opt.StripDangling, LLM: opt.LLM, FallBack: opt.FallBack,
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !opt.NoBlobs {
		shelf := s.shelf() // a copy: the context may be read when the session has become another one
		o.Resolve = func(m []byte) ([]byte, error) { return shelf.Resolve(ctx, m, opt.Problem) }
	}
	o.Restore = s.restorer(ctx, opt)
	if r, ok := s.dialect.(dialect.Resumer); ok && opt.Here != nil {
		here := *opt.Here
		if root := s.tree.Header().CWD; here.Root == "" {
			if here.Root = here.WorkDir; root != "" && place.Within(root, here.WorkDir) {
				here.Root = root
			}
		}
		o.Resume = r.Resume(s.tree.Header(), here)
	}
	c, err := session.BuildContext(s.tree, leaf, o)
	if err != nil {
		return nil, err
	}
	if opt.Problem != nil {
		for _, p := range c.Problems() {
			opt.Problem(p)
		}
	}
	c.Detach() // from here on it does not look at the tree, which appends change
	return c, nil
}

// shelf returns the blobs in which the references of the session are looked up. The caller holds the lock.
func (s *Session) shelf() logtree.Blobs {
	d, at := s.dialect, s.at
	return logtree.Blobs{Path: at.Path, Dialect: d, Reader: s.blobs, Beside: func(ctx context.Context, name string) ([]byte, error) {
		return place.ReadSideFile(ctx, d, at, name)
	}}
}

// Blob reads the blob of a reference, or says why it cannot.
func (s *Session) Blob(ctx context.Context, ref string) ([]byte, *session.Problem) {
	s.mu.RLock()
	shelf := s.shelf()
	s.mu.RUnlock()
	return shelf.Get(ctx, ref)
}

// Whole returns the record of an entry as it was appended. If it was appended before the session was opened, the strings that were cut when
// it was written are restored: see WriteOptions.NoOverflow. A string that cannot be restored stays cut, and problems says why.
func (s *Session) Whole(ctx context.Context, e session.Entry) (record []byte, problems []session.Problem, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.whole(ctx, e)
}

// EntryJSON returns an entry in the dialect's own JSON, as the agent has it in memory: its record, byte for byte, with blobs instead of
// references and whole texts instead of cut ones. It does not lock the session and may be called in View.
func (s *Session) EntryJSON(ctx context.Context, e session.Entry) ([]byte, error) {
	if record, ok := e.Whole(); ok {
		return record, nil
	}
	record, err := s.dialect.Encode(e)
	if err != nil {
		return nil, err
	}
	shelf := s.shelf()
	record, _ = shelf.Restore(ctx, e, record)
	return shelf.Resolve(ctx, record, nil)
}

// MessageParts returns what is inside a message of a context in neutral form. If the dialect cannot tell, the message is
// one opaque part.
func (s *Session) MessageParts(m []byte) []session.Part {
	if d, ok := s.dialect.(dialect.Parter); ok {
		return d.MessageParts(m)
	}
	return []session.Part{session.OpaquePart{Type: "message", JSON: m}}
}

// Resume returns the messages that the agent would begin with in a project folder and working directory.
func (s *Session) Resume(ctx context.Context, root, workDir string) (list []session.Raw, err error) {
	c, err := s.Context(ctx, s.Leaf(), ContextOptions{Here: &dialect.Here{Root: root, WorkDir: workDir}})
	if err != nil {
		return nil, err
	}
	for m, err := range c.Messages() {
		if err != nil {
			return nil, err
		}
		list = append(list, bytes.Clone(m.JSON))
	}
	return list, nil
}
