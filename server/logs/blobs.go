package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/server/guard"
)

type (
	logParams struct {
		Log string `query:"log" need:"" doc:"the name of the log that refers to the blobs"`
	}
	blobParams struct {
		Ref string `path:"ref" doc:"the reference: blob:sha256: and 64 hex digits"`
		logParams
	}
)

// blobsFor returns the store of a log's blobs.
func blobsFor(b backend.Backend, log string) (blob.Store, error) {
	if err := (nameParams{log}).check(); err != nil {
		return nil, err
	}
	k, ok := b.(blob.Keeper)
	if !ok {
		return nil, fmt.Errorf("blobs of this archive: %w", errors.ErrUnsupported)
	}
	return k.Blobs(log), nil
}

// blob sends a blob if the log refers to it.
func (l *Logs) blob(c *Call, p blobParams) error {
	ref, err := blob.ParseRef(p.Ref)
	if err != nil {
		return err
	}
	s, err := blobsFor(l.b, p.Log)
	if err != nil {
		return err
	}
	refers, err := l.refers(c, p.Log, ref)
	if err == nil && !refers[ref] {
		err = fmt.Errorf("%s: %w: the log does not refer to it", ref, blob.ErrNotExist)
	}
	if err != nil {
		return err
	}
	r, err := s.Open(c.ctx(), ref)
	if err != nil {
		return err
	}
	defer r.Close()
	out := l.begin(c, protocol.Bytes, -1)
	room := pieces.Get().(*[protocol.Piece]byte)
	defer pieces.Put(room)
	for {
		// io.ReadFull is not used, because its io.ErrUnexpectedEOF could also be an error of the reader.
		n, err := 0, error(nil)
		for n < len(room) && err == nil {
			var m int
			m, err = r.Read(room[n:])
			n += m
		}
		end := err == io.EOF //nolint:errorlint // readers give it unwrapped
		if err != nil && !end {
			if out.begun {
				abort(err)
			}
			return err
		}
		if err := out.send(room[:n]); err != nil {
			abort(err)
		}
		if end {
			return nil // the caller checks the hash
		}
	}
}

// refers returns those of the references that a log has, which the caller may read.
func (l *Logs) refers(c *Call, name string, refs ...blob.Ref) (map[blob.Ref]bool, error) {
	at, err := l.seen(c, name, false)
	if err == nil && c.May == nil {
		at, err = l.b.Stat(c.ctx(), name)
	}
	if err != nil {
		return nil, err
	}
	return l.refs.among(c.ctx(), l.b, at, refs...)
}

// putBlob stores a blob. The log need not exist yet.
func (l *Logs) putBlob(c *Call, p blobParams) error {
	ref, err := blob.ParseRef(p.Ref)
	if err != nil {
		return err
	}
	b, in, err := l.mutation(c, nameParams{p.Log}, protocol.BlobMost)
	if err != nil {
		return err
	}
	defer in.close()
	s, err := blobsFor(b, p.Log)
	if err != nil {
		return err
	}
	if err := l.mayPut(c, p.Log); err != nil {
		return err
	}
	all, done, err := l.all(c.ctx(), in)
	defer done()
	if err != nil {
		return err
	}
	if blob.Sum(all) != ref {
		return fmt.Errorf("%s: %w", ref, blob.ErrCorrupt)
	}
	if _, err := s.Put(context.WithoutCancel(c.ctx()), all); err != nil {
		return err
	}
	return l.Answer(c, nothing{})
}

// mayPut checks whether the caller may write to a log, which need not exist yet.
func (l *Logs) mayPut(c *Call, log string) error {
	if c.May == nil {
		return nil
	}
	var head []byte
	if _, err := l.b.Stat(c.ctx(), log); errors.Is(err, backend.ErrNotExist) {
		head = []byte{}
	} else if err != nil {
		return err
	}
	return c.may(log, true, head)
}

// missing sends those references for which there is no blob. A caller that may only read learns this only of blobs that the log refers to;
// a limited writer only of those that were stored for the log. All others count as missing.
func (l *Logs) missing(c *Call, p logParams) error {
	b, err := l.b, error(nil)
	writes := l.mayPut(c, p.Log) == nil
	if writes {
		b, err = l.writing(c)
	} else {
		err = c.may(p.Log, false, nil)
	}
	if err != nil {
		return err
	}
	s, err := blobsFor(b, p.Log)
	if err != nil {
		return err
	}
	refs, err := l.asked(c)
	if err != nil {
		return err
	}
	missing := []string{}
	ask := make([]blob.Ref, 0, len(refs))
	var refers map[blob.Ref]bool
	if !writes {
		if refers, err = l.refers(c, p.Log, refs...); err != nil {
			return err
		}
	}
	for _, ref := range refs {
		if writes || refers[ref] {
			ask = append(ask, ref)
		} else {
			missing = append(missing, ref.String())
		}
	}
	found, err := blob.Missing(c.ctx(), s, ask)
	if err != nil {
		return err
	}
	for _, ref := range found {
		missing = append(missing, ref.String())
	}
	return l.Answer(c, missing)
}

// asked reads references, one per line.
func (l *Logs) asked(c *Call) (refs []blob.Ref, err error) {
	in, err := l.body(c, protocol.RefsMost*128)
	if err != nil {
		return nil, err
	}
	defer in.close()
	for lines := bufio.NewScanner(in); ; {
		if !lines.Scan() {
			return refs, lines.Err()
		}
		ref, err := blob.ParseRef(lines.Text())
		if err != nil {
			return nil, err
		}
		if refs = append(refs, ref); len(refs) > protocol.RefsMost {
			return nil, guard.Refuse(http.StatusRequestEntityTooLarge, "at most %d references at a time", protocol.RefsMost)
		}
	}
}

// Bounds of the cached references.
const (
	refsLogs = 64
	refsMost = 1 << 16 // of one log; a log with more is read for each question
)

// references caches which blobs logs refer to. If a log has grown, only the new part is read.
type references struct {
	mu   sync.Mutex
	logs map[string]*referring
}

// referring has the references of one log.
type referring struct {
	mu         sync.Mutex
	generation string
	size       int64 // up to the end of the last whole record that was read
	refs       map[blob.Ref]struct{}
}

// among returns those of the references that a log has. It reads the log at most once.
func (r *references) among(ctx context.Context, b backend.Backend, at backend.Log, refs ...blob.Ref) (map[blob.Ref]bool, error) {
	l := r.of(at.Name)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.generation != at.Generation || l.size > at.Size || len(l.refs) > refsMost {
		l.generation, l.size, l.refs = at.Generation, 0, map[blob.Ref]struct{}{}
	}
	has, known := make(map[blob.Ref]bool, len(refs)), true
	for _, ref := range refs {
		_, has[ref] = l.refs[ref]
		known = known && has[ref]
	}
	if known {
		return has, nil
	}
	for record, err := range b.Read(ctx, at, l.size) {
		if err != nil {
			return nil, err
		}
		for one := range blob.RefsIn(record.Data) {
			if _, asked := has[one]; asked {
				has[one] = true
			}
			if len(l.refs) <= refsMost { // one more than refsMost marks the list as incomplete
				l.refs[one] = struct{}{}
			}
		}
		if !record.Torn && backend.IsText(at.Name) {
			l.size = record.End
		}
	}
	return has, nil
}

// of returns the cached references of a log. If there are too many logs, it drops another one.
func (r *references) of(name string) *referring {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.logs[name]
	if l == nil {
		for other := range r.logs {
			if len(r.logs) < refsLogs {
				break
			}
			delete(r.logs, other)
		}
		if r.logs == nil {
			r.logs = map[string]*referring{}
		}
		l = &referring{}
		r.logs[name] = l
	}
	return l
}
