package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// What can be done with entries that are in no session: lists of the dialect's own JSON, as clients in other languages
// hold them.

// ParseEntries gives the JSON values of a text, line by line, as they stand. What is not JSON is passed over; values that
// share a line are all there.
func ParseEntries(text []byte) [][]byte {
	var list [][]byte
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		list = appendValues(list, line)
	}
	return list
}

// appendValues takes the values of one line, up to the first thing that is none.
func appendValues(list [][]byte, line []byte) [][]byte {
	for at := rawjson.SkipSpace(line, 0); at < len(line); at = rawjson.SkipSpace(line, at) {
		// Skip checks the structure, so that no half of a value is taken.
		end, err := rawjson.Skip(line, at)
		if err != nil {
			break
		}
		list = append(list, line[at:end])
		at = end
	}
	return list
}

// LoadEntries gives the header and all other records of a file, as they stand there: nothing is migrated, and nothing is
// written. Where there is no file, or one that has no readable header, there are none.
func (s *Store) LoadEntries(ctx context.Context, path string, opt OpenOptions) ([][]byte, error) {
	sess, err := s.Open(ctx, path, opt)
	switch {
	// As the programs do it: to those who ask it is a list, and an empty one is the answer.
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
		return nil, named(path, err)
	}
	for _, l := range lines {
		data := l.data
		if before := h.Span.End() - l.offset; before > 0 { // the header, or what stands before it
			data = data[min(before, int64(len(data))):]
		}
		for _, value := range appendValues(nil, data) {
			// null and the like would be entries without anything to a program that only parses.
			if rawjson.Truthy(value) {
				list = append(list, bytes.Clone(value))
			}
		}
	}
	return list, nil
}

// isHeader says whether a record begins a session. Both are asked: Detect looks at the family, and only decoding tells
// whether it is complete.
func isHeader(d dialect.Dialect, record []byte) bool {
	if !d.Detect([]dialect.Record{{Data: record, Line: 1}}) {
		return false
	}
	b := session.NewBuilder("", nil)
	dec := d.NewDecoder(b)
	dec.Decode(dialect.Record{Data: record, Line: 1})
	return dec.Finish() == nil && b.Header().Raw != nil && !b.Header().InEntry
}

// MigrateEntries brings a header and entries of an old version up to today's and gives them in the same order; d nil is
// the default dialect. Entries without a header are taken for the oldest version, as the agents do. What is current
// stays byte for byte.
func (s *Store) MigrateEntries(d dialect.Dialect, entries [][]byte) ([][]byte, error) {
	w, err := s.writer(d)
	if err != nil {
		return nil, err
	}
	at := -1
	for i, r := range entries {
		if isHeader(w.Dialect, r) {
			at = i
			break
		}
	}
	var header []byte
	if at >= 0 {
		header = entries[at]
	} else if header = []byte(w.Habits().OldestHeader); len(header) == 0 {
		return entries, nil
	}
	// All at once: what an old record becomes depends on those before it (version 1 has no ids, and counts).
	t, where := treeOf(w.Dialect, header, entries, at)
	out := make([][]byte, len(entries))
	for i, r := range entries {
		switch k := where[i]; {
		case i == at:
			out[i], _, err = w.EditHeader(t.Header(), nil, dialect.HeaderEdit{})
		case k >= 0:
			// An entry that is current gives its own bytes back.
			out[i], err = w.Dialect.Encode(t.At(k))
		default:
			out[i] = r // no entry: it stays as it is
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return out, nil
}

// treeOf builds the tree of entries that are in no log. where says, for each of them, which entry of the tree it is, -1 for
// what is none; skip is the one that is the header. The records are kept by the tree itself, since no log has them.
func treeOf(d dialect.Dialect, header []byte, entries [][]byte, skip int) (t *session.Tree, where []int) {
	b := session.NewBuilder("", nil)
	dec := d.NewDecoder(b)
	dec.Decode(dialect.Record{Data: header, Line: 1})
	b.Pending(true)
	where = make([]int, len(entries))
	for i, r := range entries {
		where[i] = -1
		if i == skip {
			continue
		}
		n := b.Len()
		dec.Decode(dialect.Record{Data: r, Line: i + 1})
		if b.Len() > n {
			where[i] = n
		}
	}
	return b.Finish(), where
}

// ContextOf computes what the model would see at an entry of a list that is in no session; d nil is the default dialect.
// A leaf of nil, or one that is not there, means the last entry; "" is the place before the first one.
func (s *Store) ContextOf(d dialect.Dialect, entries [][]byte, leaf *session.EntryID, opt ContextOptions) (*session.Context, error) {
	w, err := s.writer(d)
	if err != nil {
		return nil, err
	}
	// Any header will do: a context does not depend on it, and the decoder wants one before entries.
	header, err := w.Header(dialect.NewSession{ID: "x", CWD: string(filepath.Separator)})
	if err != nil {
		return nil, err
	}
	t, _ := treeOf(w.Dialect, header, entries, -1)
	if leaf == nil {
		last := t.LeafID()
		leaf = &last
	}
	return session.BuildContext(t, *leaf, session.ContextOptions{
		DropFailed: opt.DropFailed, StripDangling: opt.StripDangling, LLM: opt.LLM, FallBack: true,
	})
}

// EntryJSON gives an entry of the session in the dialect's own JSON, as the agent has it in memory: its record, byte for
// byte, with blobs in the place of their references. It does not lock the session and may be called in View.
func (s *Session) EntryJSON(ctx context.Context, e session.Entry) ([]byte, error) {
	record, err := s.dialect.Encode(e)
	if err != nil {
		return nil, err
	}
	return s.resolveBlobs(ctx, record, nil)
}

// Name is what the session is called, "" where it has no name: what was said last, as an entry or in the header, whichever
// is the agent's habit.
func (s *Session) Name() (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	byEntry := false
	if d, ok := s.dialect.(dialect.Writer); ok {
		byEntry = d.Habits().RenameByEntry
	}
	// Where the agent keeps names in entries, a title in the header is an older one.
	if title := s.tree.Header().Title; title != "" && !byEntry {
		return title, nil
	}
	for i := s.tree.Len() - 1; i >= 0; i-- {
		e := s.tree.At(i)
		if e.Kind != session.KindSessionInfo {
			continue
		}
		body, err := e.Body()
		if info, ok := body.(session.SessionInfo); ok || err != nil {
			return info.Name, err
		}
	}
	return s.tree.Header().Title, nil
}

// CWD is the working directory that the session is about: the header's, or this process's where it names none.
func (s *Session) CWD() string {
	if dir := s.Header().CWD; dir != "" {
		return dir
	}
	return s.store.opt.Env.WorkDir
}
