package find

import (
	"bytes"
	"context"
	"errors"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find/snapshot"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// reader reads logs for the catalogue, one after the other. It never holds more of a log than a record. Each worker has its own, which
// reuses its buffers.
type reader struct {
	f      *Finder
	peek   *place.Peeker
	signer index.Signer
	skim   session.Skim

	// shares: the current log is short and shares a signature, which is made in together, with the logs in short, of the source shortOf.
	shares     bool
	together   index.Signer
	short      []index.Log
	shortOf    int
	shortBytes int64

	ids  []idAt
	room []byte // see snapshot.Now

	meter *meter
	job   *job
	tell  int64 // the byte of the log at which the meter is called next
}

// idAt is the hash of an entry's id, and where the entry begins.
type idAt struct {
	at   int64
	hash uint32
}

// read reads a log for the catalogue. It fails if the log could not be read; a log that is not a session is known as such. The chunks are
// valid until the next call.
func (r *reader) read(ctx context.Context, j *job, path string) (index.Log, error) {
	r.job, r.tell, r.shares = j, r.meter.next(0), false
	defer r.skim.Trim()
	return retry(func() (index.Log, error) { return r.once(ctx, j, path) })
}

// retry calls read again as long as the log is replaced or truncated while it is read.
func retry[T any](read func() (T, error)) (T, error) {
	for try := 0; ; try++ {
		got, err := read()
		if try == logtree.Retries || !errors.Is(err, backend.ErrChanged) {
			return got, err
		}
	}
}

// once is read without retries.
func (r *reader) once(ctx context.Context, j *job, path string) (index.Log, error) {
	r.shares = false
	// A log that is short, as far as is known, is read from a database in one request.
	if j.shared != nil && (j.known == nil || j.known.Stamp.Size < snapshot.Most) {
		if r.room == nil {
			r.room = make([]byte, snapshot.Most)
		}
		b, err := snapshot.Now(ctx, j.b, j.log.Name, r.room)
		if err != nil {
			return index.Log{Name: j.log.Name}, err
		}
		now := *j
		now.b = b
		j = &now
	}
	l, at, err := r.f.stamp(ctx, j.b, j.log.Name)
	if err != nil {
		return l, err
	}
	row := place.Row{Path: path, Log: at}
	// Lists without a catalogue show what Peek returns; both must show the same.
	r.peek.Peek(ctx, j.b, &row, place.ListOptions{})
	switch {
	case errors.Is(row.Err, logtree.ErrNotSession):
		// Kept, so that it is not read again until it changes.
		l.Summary.Dialect = row.Dialect.Name()
		return l, nil
	case row.Err != nil:
		return l, row.Err
	}
	if ok, err := r.resume(ctx, j, &row, &l); ok || err != nil {
		return l, err
	}
	// A database keeps the keys of each log.
	r.shares = j.shared == nil && at.Size <= index.ShortLog
	t := r.tally(&row, &l)
	if j.copied != nil {
		t.copied(j.copied.Parent, j.copied.Until)
	}
	if err := t.readAll(ctx, j.b, at); err != nil {
		if errors.Is(err, logtree.ErrNotSession) {
			l.Summary = index.Summary{Dialect: row.Dialect.Name()}
			return l, nil
		}
		return l, err
	}
	if r.shares {
		if from, to, ok := r.together.Leave(); ok {
			l.Chunks = []index.Chunk{{From: from, To: to}}
		}
		return l, nil
	}
	l.Chunks = r.signer.Finish()
	l.IDs = r.idsOf(l.Chunks)
	if j.copied == nil || !j.copied.Whole {
		t.setResume(&l, 0)
	}
	return l, nil
}

// sign returns the signer of a log.
func (r *reader) sign() *index.Signer {
	if r.shares {
		return &r.together
	}
	return &r.signer
}

// stamp begins an index.Log. The stamp is taken before the reading, so a write in between outdates it, and the log is read again.
func (f *Finder) stamp(ctx context.Context, b backend.Backend, name string) (index.Log, backend.Log, error) {
	at, err := b.Stat(ctx, name)
	return index.Log{Name: name, Stamp: index.Stamp{
		Generation: at.Generation, Size: at.Size, Nanos: at.Time.UnixNano(), Changed: at.Changed,
		Racy: place.Racy(at, f.clock()),
	}}, at, err
}

// idsOf assigns the hashes of ids to the chunks. An entry without text belongs to the chunk before it.
func (r *reader) idsOf(chunks []index.Chunk) [][]uint32 {
	list := make([][]uint32, len(chunks))
	k := 0
	for _, id := range r.ids {
		for k+1 < len(chunks) && id.at >= chunks[k+1].From {
			k++
		}
		if len(chunks) > 0 {
			list[k] = append(list[k], id.hash)
		}
	}
	return list
}

// readAll reads the whole log.
func (t *tally) readAll(ctx context.Context, b backend.Backend, at backend.Log) error {
	t.builder.Expect(at.Size)
	dec := t.d.NewDecoder(t.builder)
	lines := backend.Lines(b, at.Name)
	var last dialect.Record
	for rec, err := range logtree.Records(ctx, b, at) {
		if err != nil {
			return err
		}
		t.record(dec, rec)
		// An old document of Wave is one record with all messages in it.
		if !lines {
			last = dialect.Record{Data: bytes.Clone(rec.Data), Offset: rec.Offset, Torn: rec.Torn}
		}
	}
	before := t.builder.Len()
	if dec.Finish() != nil {
		return logtree.ErrNotSession
	}
	if t.builder.Len() > before { // Finish splits a document into entries
		t.entries(before, last)
	}
	t.finish(t.builder.Finish())
	return nil
}
