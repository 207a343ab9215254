package push

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// diverged handles a log that has changed here and in the archive.
func (s *sending) diverged(ctx context.Context, state growth) error {
	theirs, err := backend.ReadAll(ctx, s.p.t.Backend, s.there)
	if err != nil {
		return err
	}
	branches, err := s.branches(ctx, state, theirs)
	if err != nil {
		return err
	}
	if branches {
		s.e.Fate = Branched
		end := int64(len(theirs))
		if theirs[end-1] != '\n' {
			s.lead, end = []byte{'\n'}, end+1
		}
		s.w.Elsewhere = append(slices.Clip(s.w.Elsewhere), span{s.w.At, end})
		return s.extend(ctx, false)
	}
	s.e.Fate = Forked
	common := s.w.At
	if len(s.w.Elsewhere) > s.w.Taken {
		common = s.w.Elsewhere[s.w.Taken].From
	}
	text, err := marshalMark(&mark{V: markVersion, At: -1, Fork: s.it.name, Redacted: s.w.Redacted, Clean: s.w.Clean, Time: s.p.c.opt.Clock().UTC().Format(time.RFC3339)})
	if err != nil {
		return err
	}
	s.e.Fork, err = keepFork(s.it.src.Dialect, s.it.name, theirs, min(common, int64(len(theirs))), func(f fork) (bool, error) {
		if s.p.opt.DryRun {
			return true, nil
		}
		if err := s.carryFork(ctx, f); err != nil {
			return false, err
		}
		return putFork(ctx, s.p.t.Backend, s.p.m, f.name, text, f.content)
	})
	if err != nil {
		return err
	}
	return s.anew(ctx)
}

// branches reports whether one log can hold both new parts as branches.
func (s *sending) branches(ctx context.Context, state growth, theirs []byte) (bool, error) {
	if state != grown || s.there.Generation != s.w.CGen || s.there.Size <= s.w.At || s.w.Loose ||
		!s.o.lines || !s.p.sameMode(&s.w) || !isTree(s.it.src.Dialect) {
		return false, nil
	}
	if len(s.w.Elsewhere) == 0 {
		// The copy may have been replaced by a longer one.
		of, there, _, err := s.o.common(ctx, s.p.t.Backend, s.there, s.p.opt.Redact)
		if err != nil || of != s.w.Of || there != s.w.At {
			return false, err
		}
	}
	ours := make([]byte, s.o.at.Size)
	if err := backend.ReadFull(s.o.r, s.o.at.Name, ours, 0); err != nil {
		return false, err
	}
	return disjoint(s.it.src.Dialect, ours, s.w.Of, theirs, s.w.At), nil
}

// isTree reports whether a format has branches.
func isTree(d dialect.Dialect) bool {
	w, ok := d.(dialect.Writer)
	return ok && w.Habits().Branches
}

// disjoint reports whether no entry id occurs both in a from newA on and in b from newB on.
func disjoint(d dialect.Dialect, a []byte, newA int64, b []byte, newB int64) bool {
	known := map[session.EntryID]bool{}
	for e := range logtree.FromText(d, "", a).Tree.Entries() {
		if e.Span.Offset >= newA {
			known[e.ID] = true
		}
	}
	for e := range logtree.FromText(d, "", b).Tree.Entries() {
		if e.Span.Offset >= newB && known[e.ID] {
			return false
		}
	}
	return true
}

// fork is a session made of a log that has diverged.
type fork struct {
	name    string // name in the archive
	content []byte
}

// mostForks is the largest number of forks of a log that begin with the same new record.
const mostForks = 1000

// keepFork makes a fork of a log and returns its name. put stores the fork; it reports false if the name belongs to another fork, because
// the log was replaced by one that has the same first new record but differs after it.
func keepFork(d dialect.Dialect, name string, content []byte, common int64, put func(fork) (bool, error)) (string, error) {
	for try := range mostForks {
		f, err := makeFork(d, name, content, common, try)
		if err != nil {
			return "", err
		}
		if ok, err := put(f); ok || err != nil {
			return f.name, err
		}
	}
	return "", fmt.Errorf("%s: %w: there are %d forks of it", name, backend.ErrExist, mostForks)
}

// makeFork turns a log into a separate session. Its id is derived from its name, the first new record and the number of the try, so it is
// the same wherever the fork is made.
func makeFork(d dialect.Dialect, name string, content []byte, common int64, try int) (fork, error) {
	first, _, _ := bytes.Cut(content[common:], []byte{'\n'})
	text := append([]byte(name+"\x00"), first...)
	if try > 0 {
		text = fmt.Append(text, "\x00", try)
	}
	seed := sha256.Sum256(text)
	f := fork{name: path.Join(path.Dir(name), fmt.Sprintf("%x-%s", seed[:4], path.Base(name))), content: content}
	w, ok := d.(dialect.Writer)
	if !ok || !backend.IsText(name) {
		return f, nil
	}
	h := logtree.FromText(d, "", content).Tree.Header()
	begun, _ := h.Timestamp.Time()
	id, err := w.NewID(begun, io.MultiReader(bytes.NewReader(seed[:]), repeat(seed)))
	if err != nil {
		return f, err
	}
	f.content = renamed(d, w, content, h, id)
	if !bytes.Equal(f.content, content) { // if they are equal, the log does not contain its id
		f.name = nameBeside(name, d.Layout().File(begun, id))
	}
	return f, nil
}

// nameBeside returns the name of a new log next to another one. file is the name that the agent would choose. If all logs of the agent have
// the same file name, each is in a folder of its own.
func nameBeside(name, file string) string {
	dir, base := path.Dir(name), path.Base(file)
	if base == path.Base(name) {
		dir, base = path.Dir(dir), path.Join(path.Base(path.Dir(file)), base)
	}
	return path.Join(dir, base)
}

// repeat is an endless reader that always returns the same bytes.
type repeat [sha256.Size]byte

// Read implements io.Reader.
func (r repeat) Read(p []byte) (int, error) { return copy(p, r[:]), nil }

// renamed returns a log with another session id. Lines that cannot be read are not changed.
func renamed(d dialect.Dialect, w dialect.Writer, content []byte, h session.Header, id session.ID) []byte {
	if h.Raw == nil {
		return content
	}
	parent := string(h.ID)
	to := dialect.NewSession{ID: id, CWD: h.CWD, Parent: parent}
	to.Time, _ = h.Timestamp.Time()
	out := make([]byte, 0, len(content)+len(content)/16)
	stamper, stamps := d.(dialect.Stamper)
	offset := int64(0)
	for line := range bytes.Lines(content) {
		record := bytes.TrimRight(line, "\r\n")
		ending := line[len(record):]
		changed := record
		if h.Span.Offset >= offset && h.Span.End() <= offset+int64(len(record)) && !h.InEntry {
			if header, _, err := w.EditHeader(h, nil, dialect.HeaderEdit{ID: &id, Parent: &parent}); err == nil {
				changed = bytes.Join([][]byte{record[:h.Span.Offset-offset], header, record[h.Span.End()-offset:]}, nil)
			}
		} else if stamps && len(record) > 0 {
			if copied := stamper.Copy(record, h, to); copied != nil {
				changed = copied
			}
		}
		out = append(append(out, changed...), ending...)
		offset += int64(len(line))
	}
	return out
}

// putFork puts a fork into a backend. An existing fork was made by an earlier try or by the other side, and may have been continued since.
// ok is false if the name belongs to a log with other content.
func putFork(ctx context.Context, b backend.Backend, m backend.Mirror, name, mark string, content []byte) (ok bool, err error) {
	_, err = m.Overwrite(ctx, backend.Log{Name: name}, mark, bytes.NewReader(content))
	if !errors.Is(err, backend.ErrExist) {
		return err == nil, err
	}
	at, err := b.Stat(ctx, name)
	if err != nil {
		return false, err
	}
	have, err := backend.ReadAll(ctx, b, at)
	switch {
	case err != nil:
		return false, err
	case bytes.HasPrefix(have, content):
		return true, nil
	case bytes.HasPrefix(content, have):
		_, err = m.Extend(ctx, at, mark, bytes.NewReader(content[len(have):]))
		return err == nil, err
	}
	return false, nil
}
