package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/transcript"
)

// Bounds of the sessions that are held open.
const (
	openMost  = 128
	openBytes = 256 << 20 // of trees, as estimated
	// entryCost is what an entry of a tree takes, with what pages keep of it; openCost what a session takes besides.
	entryCost = 160
	openCost  = 300 << 10
	// lendFrom is the size from which a session that a search found stays open.
	lendFrom = 4 << 20
)

// documents are the sessions that are held open between requests, those that were used last.
type documents struct {
	s *Server

	mu    sync.Mutex
	open  map[string]*document
	clock uint64 // counts uses
}

// document is one session that is held open. Its tree grows with the log. While it is used for reading it does not change.
type document struct {
	path string

	// Under documents.mu.
	users int
	used  uint64
	size  int64 // as estimated
	gone  bool  // no longer in the list: the last user closes it

	// mu is held for reading while the session is read, and for writing while it is opened and reads on.
	mu   sync.RWMutex
	sess *store.Session // nil: not opened yet
	seen backend.Log    // the log before it was last read
	tag  string         // of the log as it is in the tree

	// kept guards what pages keep of the session: its transcript, with the state of the logs that it was made for, and the
	// command that continues it.
	kept    sync.Mutex
	text    *transcript.Document
	state   string
	command *string
	sees    *page.Here // what the model sees at a leaf; seesAt says of which log and leaf
	seesAt  string
	// filing guards the edits of files that were last asked for, with the state of the log and the leaf.
	filing  sync.Mutex
	files   []transcript.FileChange
	filesOf string
	edited  atomic.Int64 // what files takes
	// referring guards the blobs that the entries refer to, with the state of the log.
	referring sync.Mutex
	refs      map[blob.Ref]bool
	refsOf    string
}

// refers reports whether an entry refers to a blob. A text that is not a reference passes: there is no such blob.
func (doc *document) refers(text string) bool {
	ref, err := blob.ParseRef(text)
	if err != nil {
		return true
	}
	doc.referring.Lock()
	defer doc.referring.Unlock()
	if doc.refs == nil || doc.refsOf != doc.tag {
		doc.refs, doc.refsOf = map[blob.Ref]bool{}, doc.tag
		for t, i := doc.sess.Tree(), 0; i < t.Len(); i++ {
			if raw, err := t.At(i).Raw(); err == nil { // what cannot be read refers to nothing
				for r := range blob.RefsIn(raw) {
					doc.refs[r] = true
				}
			}
		}
	}
	return doc.refs[ref]
}

// errGone is the error of a document that another one replaced.
var errGone = errors.New("the log was replaced")

// use calls f with a session, as its log is now. f must not keep the session, nor wait for a client.
func (d *documents) use(ctx context.Context, path string, f func(*document) error) error {
	return d.hold(ctx, path, f, func(*document) error { return nil })
}

// hold calls f like use, and then send, which may wait for a client: the session stays open, and its tree may grow. send
// looks at it in read.
func (d *documents) hold(ctx context.Context, path string, f, send func(*document) error) error {
	for try := 0; ; try++ {
		doc := d.take(path)
		now, err := doc.look(ctx, d.s)
		if err == nil && !doc.isAt(now) {
			err = doc.renew(ctx, d.s, now)
		}
		if err == nil {
			err = doc.read(func(doc *document) error {
				d.measure(doc)
				return f(doc)
			})
		}
		replaced := errors.Is(err, errGone)
		if err == nil {
			err = send(doc)
		}
		d.put(doc, replaced)
		if !replaced {
			return err
		}
		if try == logtree.Retries {
			return fmt.Errorf("%s: %w", path, backend.ErrChanged)
		}
	}
}

// lend gives a search the log of a session that is open already, or is so large that it is worth opening. Its tree does not
// grow until done is called.
func (d *documents) lend(ctx context.Context, row *place.Row) (log *logtree.Log, done func()) {
	d.mu.Lock()
	known := d.open[row.Path] != nil
	d.mu.Unlock()
	if !known && row.Log.Size < lendFrom {
		return nil, nil
	}
	doc := d.take(row.Path)
	now, err := doc.look(ctx, d.s)
	if err == nil && !doc.isAt(now) {
		err = doc.renew(ctx, d.s, now)
	}
	if err != nil {
		d.put(doc, errors.Is(err, errGone))
		return nil, nil
	}
	doc.mu.RLock()
	if doc.sess == nil {
		doc.mu.RUnlock()
		d.put(doc, true)
		return nil, nil
	}
	d.measure(doc)
	_ = doc.sess.Read(func(l *logtree.Log, _ logtree.Blobs) error { // it gives what the function gives
		log = l
		return nil
	})
	return log, func() {
		doc.mu.RUnlock()
		d.put(doc, false)
	}
}

// read calls f while the tree does not grow.
func (doc *document) read(f func(*document) error) error {
	doc.mu.RLock()
	defer doc.mu.RUnlock()
	if doc.sess == nil {
		return errGone
	}
	return f(doc)
}

// look asks what the log is now. Requests do so at the same time; only a log that changed makes them wait for each other.
func (doc *document) look(ctx context.Context, s *Server) (backend.Log, error) {
	at, err := s.store.Locate(doc.path)
	if err != nil {
		return backend.Log{}, err
	}
	now, err := at.Backend.Stat(ctx, at.Name)
	return now, logtree.Named(doc.path, err)
}

// isAt reports whether the log was read as it is now.
func (doc *document) isAt(now backend.Log) bool {
	doc.mu.RLock()
	defer doc.mu.RUnlock()
	return doc.sess != nil && doc.seen == now
}

// renew opens the session, or reads what was appended to it. now is the log as it was before.
func (doc *document) renew(ctx context.Context, s *Server, now backend.Log) error {
	doc.mu.Lock()
	defer doc.mu.Unlock()
	if doc.sess != nil && doc.seen == now {
		return nil // another request was faster
	}
	if doc.sess == nil {
		// Other requests wait for it, so it is not cancelled with this one.
		sess, err := s.store.Open(context.WithoutCancel(ctx), doc.path, store.OpenOptions{})
		if err != nil {
			return err
		}
		s.counts.opened.Add(1)
		doc.sess, doc.seen = sess, now
		doc.mark()
		return nil
	}
	change, err := doc.sess.Renew(context.WithoutCancel(ctx))
	switch {
	case err != nil && !errors.Is(err, backend.ErrChanged):
		return err
	case change == logtree.Same:
	case change == logtree.Grown:
		s.counts.grown.Add(1)
		doc.mark()
	default:
		return errGone
	}
	doc.seen = now
	return nil
}

// mark notes what the log is now.
func (doc *document) mark() {
	log := doc.sess.Log()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d", doc.path, log.Generation, log.Size, log.Time.UnixNano()))
	doc.tag = hex.EncodeToString(sum[:8])
}

// take gives the document of a path, which is held until put.
func (d *documents) take(path string) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := d.open[path]
	if doc == nil {
		doc = &document{path: path}
		if d.open == nil {
			d.open = map[string]*document{}
		}
		d.open[path] = doc
	}
	d.clock++
	doc.users++
	doc.used = d.clock
	return doc
}

// put lets a document go, and closes those that are too many.
func (d *documents) put(doc *document, replaced bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc.users--
	if (replaced || doc.users == 0 && doc.sess == nil) && d.open[doc.path] == doc { // another user may be opening the session
		delete(d.open, doc.path)
		doc.gone = true
	}
	if doc.gone {
		if doc.users == 0 {
			d.shut(doc)
		}
		return
	}
	for {
		var oldest *document
		total := int64(0)
		for _, o := range d.open {
			total += o.takes()
			if o.users == 0 && (oldest == nil || o.used < oldest.used) {
				oldest = o
			}
		}
		if oldest == nil || len(d.open) <= openMost && total <= openBytes {
			return
		}
		delete(d.open, oldest.path)
		d.shut(oldest)
	}
}

// takes estimates the memory of a document, also of what pages keep of it.
func (doc *document) takes() int64 { return doc.size + doc.edited.Load() }

// measure estimates what the session of a document takes.
func (d *documents) measure(doc *document) {
	n := int64(doc.sess.Tree().Len())
	d.mu.Lock()
	doc.size = openCost + n*entryCost
	d.mu.Unlock()
}

// shut closes a document that has no users.
func (d *documents) shut(doc *document) {
	if doc.sess == nil {
		return
	}
	if err := doc.sess.Close(); err != nil {
		d.s.log.Warn("close", "path", doc.path, "error", err)
	}
	doc.sess = nil
}

// forget has a session opened anew: the server itself changed it.
func (d *documents) forget(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if doc := d.open[path]; doc != nil {
		delete(d.open, path)
		doc.gone = true
		if doc.users == 0 {
			d.shut(doc)
		}
	}
}

func (d *documents) closeAll() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	for path, doc := range d.open {
		delete(d.open, path)
		if doc.sess != nil {
			err = errors.Join(err, doc.sess.Close())
		}
	}
	return err
}

// count is how many sessions are held open, and what they take.
func (d *documents) count() (n int, bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, doc := range d.open {
		bytes += doc.takes()
	}
	return len(d.open), bytes
}
