package repair

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/redact"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Secret is a key, a token or a password in a log. It does not hold the secret.
type Secret struct {
	// Path is the log, or the file of the session's folder, that has the secret. Session is the id, or "" if the log cannot be read as a
	// session.
	Path    string
	Session session.ID
	// Entry is the entry that has the secret; "" for the header, for a line that is not an entry, and for a file of the folder.
	Entry session.EntryID
	// Line counts from 1. Offset is the position of the secret in bytes.
	Line   int
	Offset int64
	// Kind is the kind of secret, such as "aws access key". Hint has its first characters, at most four.
	Kind, Hint string
}

// Secrets finds secrets in the log at a path and in the text files of its session's folder. It searches all bytes, whether they can be read
// as entries or not. l is the log as a session, or nil if it cannot be read as one.
func (r *Repairer) Secrets(ctx context.Context, path string, l *logtree.Log) ([]Secret, error) {
	at, err := r.m.Locate(path)
	if err != nil {
		return nil, err
	}
	list, err := secretsOf(ctx, at.Backend, at.Name, path)
	if err != nil || l == nil {
		return list, err
	}
	attribute(list, l.Tree)
	files, err := place.FindSideFiles(ctx, l.Dialect, at)
	for _, f := range files.Logs {
		if backend.Lines(files.Backend, f.Name) {
			continue // a sub-agent's session, which has its own row in lists
		}
		more, wrong := secretsOf(ctx, files.Backend, f.Name, place.Join(files.Dir, f.Name[len(files.Prefix):]))
		list, err = append(list, more...), errors.Join(err, wrong)
	}
	for i := range list {
		list[i].Session = l.Tree.Header().ID
	}
	return list, err
}

// secretsOf searches a log record by record. A log that does not consist of lines is one record, whose lines are counted.
func secretsOf(ctx context.Context, b backend.Backend, name, path string) (list []Secret, err error) {
	log, err := b.Stat(ctx, name)
	if err != nil {
		return nil, logtree.Named(path, err)
	}
	line, lines := 0, backend.Lines(b, name)
	for record, err := range b.Read(ctx, log, 0) {
		if err != nil {
			return list, logtree.Named(path, err)
		}
		line++
		text := string(record.Data)
		found, exact := redact.Find(text), true
		if plain := redact.SpelledOut(text); lines && plain != text {
			if more := redact.Find(plain); len(more) > len(found) { // escapes hide some, whose position is not known
				text, found, exact = plain, more, false
			}
		}
		before := 0
		for _, m := range found {
			if !lines {
				line += bytes.Count(record.Data[before:m.Start], []byte("\n"))
				before = m.Start
			}
			at := record.Offset
			if exact {
				at += int64(m.Start)
			}
			list = append(list, Secret{Path: path, Line: line, Offset: at, Kind: m.Kind, Hint: redact.Hint(text[m.Start:m.End])})
		}
	}
	return list, nil
}

// attribute sets the entry of each secret: the last entry that begins at or before it, if the entry reaches that far.
func attribute(list []Secret, t *session.Tree) {
	if len(list) == 0 {
		return
	}
	type spot struct {
		session.Span
		id session.EntryID
	}
	spots := make([]spot, 0, t.Len())
	for e := range t.Entries() {
		if !e.Foreign() && e.Durable() {
			spots = append(spots, spot{e.Span, e.ID})
		}
	}
	sorting.By(spots, func(a, b spot) int { return cmp.Compare(a.Offset, b.Offset) })
	for i := range list {
		s := &list[i]
		n, found := slices.BinarySearchFunc(spots, s.Offset, func(p spot, at int64) int { return cmp.Compare(p.Offset, at) })
		if !found {
			n--
		}
		if n >= 0 && s.Offset < spots[n].Offset+spots[n].Length {
			s.Entry = spots[n].id
		}
	}
}
