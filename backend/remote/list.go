package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
)

// List implements backend.Backend.
func (b *Backend) List(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		b.rows(ctx, prefix, false, func(row protocol.Row, err error) bool { return yield(row.Log().Log, err) })
	}
}

// Marks implements backend.Mirror.
func (b *Backend) Marks(ctx context.Context, prefix string) iter.Seq2[backend.Marked, error] {
	return func(yield func(backend.Marked, error) bool) {
		b.rows(ctx, prefix, true, func(row protocol.Row, err error) bool { return yield(row.Log(), err) })
	}
}

// rows yields the rows of a list. A list that is cut off is continued after its last name.
func (b *Backend) rows(ctx context.Context, prefix string, marks bool, yield func(protocol.Row, error) bool) {
	ctx, done, err := b.until(ctx)
	defer done()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		yield(protocol.Row{}, err)
		return
	}
	if !utf8.ValidString(prefix) || strings.IndexByte(prefix, 0) >= 0 || len(prefix) > protocol.NameMost {
		return // no name begins with it
	}
	l := &listing{b: b, ctx: ctx, prefix: b.full(prefix), marks: marks, yield: yield}
	var lost time.Time
	pause := shortPause
	for {
		before := l.after
		end, err := l.page()
		switch {
		case end:
			return
		case ctx.Err() != nil:
			yield(protocol.Row{}, context.Cause(ctx))
			return
		}
		if lost.IsZero() || l.after != before {
			lost, pause = time.Now(), shortPause
		}
		if !errors.Is(err, errCut) || time.Since(lost) > b.core.opt.Patience {
			yield(protocol.Row{}, err)
			return
		}
		if l.after == before {
			pause = wait(ctx, pause)
		}
	}
}

// listing is a list that is being read.
type listing struct {
	b      *Backend
	ctx    context.Context
	prefix string
	marks  bool
	after  string // the last name
	yield  func(protocol.Row, error) bool
}

// errCut: an answer ended before the list did. Another request can continue the list.
var errCut = errors.New("the list was cut off")

// rowMost is the longest line of a list.
const rowMost = 2 << 20

// page reads one answer. end says that there is nothing more to yield.
func (l *listing) page() (end bool, err error) {
	q := url.Values{}
	for key, value := range map[string]string{"prefix": l.prefix, "after": l.after} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if l.marks {
		q.Set("marks", "true")
	}
	res, _, err := l.b.persist(l.ctx, ask{path: protocol.Logs, query: q})
	if err != nil {
		return false, err
	}
	defer res.Close()
	lines := bufio.NewScanner(res.body)
	lines.Buffer(make([]byte, 0, 32<<10), rowMost)
	for lines.Scan() {
		var row protocol.Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return false, fmt.Errorf("%s: %w: its list has a line that is none", l.b.base.Host, ErrNotServer)
		}
		if row.End && !row.More {
			_ = atEnd(res.body) // so that the connection is ready for the next request
			return true, nil
		}
		if row.End {
			break
		}
		if end, err := l.one(row); end || err != nil {
			return end, err
		}
	}
	switch {
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		return false, fmt.Errorf("%s: %w: its list has an endless line", l.b.base.Host, ErrNotServer)
	case lines.Err() != nil:
		return false, fmt.Errorf("%s: %w: %w", l.b.base.Host, errCut, lines.Err())
	}
	return false, fmt.Errorf("%s: %w: %w", l.b.base.Host, errCut, io.ErrUnexpectedEOF)
}

// one yields a row.
func (l *listing) one(row protocol.Row) (end bool, err error) {
	name, ok := strings.CutPrefix(row.Name, l.b.prefix)
	if l.ctx.Err() != nil {
		return false, context.Cause(l.ctx)
	}
	if row.Problem != "" {
		return !l.yield(protocol.Row{Name: name}, errors.New(l.b.core.plain(row.Problem))), nil
	}
	if !ok || !strings.HasPrefix(row.Name, l.prefix) || row.Name <= l.after || backend.CheckName(name) != nil || row.Size < 0 || row.Generation == "" {
		return false, fmt.Errorf("%s: %w: its list has %.80q where that cannot be", l.b.base.Host, ErrNotServer, row.Name)
	}
	l.after = row.Name
	row.Name = name
	return !l.yield(row, nil), nil
}

// Folders implements backend.Foldered.
func (b *Backend) Folders(ctx context.Context, folder string) ([]string, error) {
	ctx, done, err := b.until(ctx)
	defer done()
	if err == nil && folder != "" {
		err = backend.CheckName(folder)
	}
	if err != nil {
		return nil, err
	}
	q := url.Values{}
	if below := strings.TrimSuffix(b.full(folder), "/"); below != "" {
		q.Set("below", below)
	}
	var list []string
	if err := b.json(ctx, ask{path: protocol.Logs + "/folders", query: q}, &list); err != nil {
		return nil, err
	}
	for _, name := range list {
		if backend.CheckName(name) != nil || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%s: %w: it has a folder %.80q", b.base.Host, ErrNotServer, name)
		}
	}
	return list, nil
}
