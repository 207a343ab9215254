package store

import (
	"bytes"
	"context"
	"errors"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store/lists"
)

// Entries that are in no session: lists of the dialect's own JSON, as clients in other languages hold them.

// ParseEntries returns the JSON values of a text, line by line, unchanged. What is not JSON is skipped; values that share a
// line are all given.
func ParseEntries(text []byte) [][]byte { return lists.Parse(text) }

// LoadEntries returns the header and all other records of a log, unchanged: nothing is migrated or written. A log that does
// not exist or has no readable header gives none, as in the agents' programs.
func (s *Store) LoadEntries(ctx context.Context, path string, opt OpenOptions) ([][]byte, error) {
	sess, err := s.Open(ctx, path, opt)
	switch {
	case errors.Is(err, backend.ErrNotExist), errors.Is(err, ErrNotSession):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer sess.Close()
	h := sess.Header()
	if h.Raw == nil {
		return nil, nil
	}
	list := [][]byte{h.Raw}
	lines, err := sess.lines(ctx)
	if err != nil {
		return nil, logtree.Named(path, err)
	}
	for _, l := range lines {
		data := l.data
		if before := h.Span.End() - l.offset; before > 0 { // the header, or what stands before it
			data = data[min(before, int64(len(data))):]
		}
		for _, value := range lists.Values(data) {
			// A program that only parses would see null as an empty entry.
			if rawjson.Truthy(value) {
				list = append(list, bytes.Clone(value))
			}
		}
	}
	return list, nil
}

// MigrateEntries brings a header and entries of an old version up to today's version, in the same order; d nil is the default dialect.
// Entries without a header are read as the oldest version, as the agents do. A current entry stays byte for byte.
func (s *Store) MigrateEntries(d dialect.Dialect, entries [][]byte) ([][]byte, error) {
	w, err := s.writer(d)
	if err != nil {
		return nil, err
	}
	return lists.Migrate(w, entries)
}

// ContextOf computes what the model would see at an entry of a list that is in no session; d nil is the default dialect.
// A leaf that is nil or unknown means the last entry; "" is the place before the first one.
func (s *Store) ContextOf(d dialect.Dialect, entries [][]byte, leaf *session.EntryID, opt ContextOptions) (*session.Context, error) {
	w, err := s.writer(d)
	if err != nil {
		return nil, err
	}
	t, err := lists.Tree(w.Dialect, entries...)
	if err != nil {
		return nil, err
	}
	if leaf == nil {
		leaf = new(t.LeafID())
	}
	return session.BuildContext(t, *leaf, session.ContextOptions{
		DropFailed: opt.DropFailed, StripDangling: opt.StripDangling, LLM: opt.LLM, FallBack: true,
	})
}
