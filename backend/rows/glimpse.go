package rows

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// listStamps is List for a Stamper.
func (b *Backend) listStamps(ctx context.Context, prefix string, yield func(backend.Log, error) bool) {
	list, err := b.stamper.Stamps(ctx)
	if err != nil {
		yield(backend.Log{}, err)
		return
	}
	logs := make([]backend.Log, 0, len(list))
	for _, s := range list {
		if s.Err != nil {
			if !yield(backend.Log{Name: s.ID}, s.Err) {
				return
			}
			continue
		}
		if name := s.ID + b.ext; strings.HasPrefix(name, prefix) {
			logs = append(logs, backend.Log{Name: name, Generation: s.Version, Size: s.Size, Time: s.Time})
		}
	}
	sorting.By(logs, func(x, y backend.Log) int { return strings.Compare(x.Name, y.Name) })
	for _, l := range logs {
		if !yield(l, nil) || ctx.Err() != nil {
			return
		}
	}
}

// OpenNow implements backend.NowOpener.
func (b *Backend) OpenNow(ctx context.Context, name string) (backend.Log, backend.Reader, error) {
	l, err := b.load(ctx, name)
	if err != nil {
		return backend.Log{}, nil, err
	}
	return b.at(name, l), backend.NewReader(l.text), nil
}

// Open implements backend.Opener.
func (b *Backend) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	text, err := b.text(ctx, at)
	if err != nil {
		return nil, err
	}
	return backend.NewReader(text), nil
}

// Names implements backend.Glimpser. It keeps the stamps of a Stamper for Glimpse.
func (b *Backend) Names(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		err := backend.Begin(ctx, b.closed.Load(), "list")
		var names []string
		var failed []Stamp
		if err == nil {
			names, failed, err = b.names(ctx)
		}
		if err != nil {
			yield(backend.Log{}, err)
			return
		}
		for _, s := range failed {
			if !yield(backend.Log{Name: s.ID}, s.Err) {
				return
			}
		}
		slices.Sort(names)
		for _, name := range names {
			if strings.HasPrefix(name, prefix) && (!yield(backend.Log{Name: name}, nil) || ctx.Err() != nil) {
				return
			}
		}
	}
}

// names returns the names of all logs, and the folders that cannot be listed.
func (b *Backend) names(ctx context.Context) (names []string, failed []Stamp, err error) {
	if b.stamper == nil {
		ids, err := b.schema.List(ctx)
		for i := range ids {
			ids[i] += b.ext
		}
		return ids, nil, err
	}
	list, err := b.stamper.Stamps(ctx)
	names = make([]string, 0, len(list))
	listed := make(map[string]Stamp, len(list))
	for _, s := range list {
		if s.Err != nil {
			failed = append(failed, s)
			continue
		}
		names = append(names, s.ID+b.ext)
		listed[s.ID+b.ext] = s
	}
	b.mu.Lock()
	b.listed = listed
	b.mu.Unlock()
	return names, failed, err
}

// Glimpse implements backend.Glimpser. For a session of a Stamper it returns only the first record: no message is read.
func (b *Backend) Glimpse(ctx context.Context, name string, room []byte, tail int) (at backend.Log, head, end []byte, err error) {
	b.mu.Lock()
	s, ok := b.listed[name]
	b.mu.Unlock()
	if ok && len(s.Header)+1 <= len(room) && !b.closed.Load() {
		n := copy(room, s.Header)
		room[n] = '\n'
		return backend.Log{Name: name, Generation: s.Version, Size: s.Size, Time: s.Time}, room[:n+1], nil, nil
	}
	l, err := b.load(ctx, name)
	if err != nil {
		return backend.Log{}, nil, nil, err
	}
	at = b.at(name, l)
	if len(l.text) <= len(room) {
		return at, room[:copy(room, l.text)], nil, nil
	}
	n := copy(room, l.text[:len(room)-tail])
	copy(room[n:], l.text[len(l.text)-tail:])
	return at, room[:n], room[n:], nil
}
