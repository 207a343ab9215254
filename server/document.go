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

// Bounds of the sessions held open.
const (
	openMost  = 128
	openBytes = 256 << 20 // of trees, estimated
	// entryCost is the memory of one entry of a tree, including what pages keep of it; openCost is that of a session without its entries.
	entryCost = 160
	openCost  = 300 << 10
	// lendFrom is the size from which a session that a search opened stays open.
	lendFrom = 4 << 20
)

// documents are the sessions held open between requests: the most recently used ones.
type documents struct {
	s *Server

	mu    sync.Mutex
	open  map[string]*document
	clock uint64 // counts uses
}

// document is one session held open. Its tree grows with the log, but not while the session is being read.
type document struct {
	path string

	// Under documents.mu.
	users int
	used  uint64
	size  int64 // estimated
	gone  bool  // removed from documents.open: the last user closes it

	// mu is held for reading while the session is read, and for writing while it is opened or reads on.
	mu   sync.RWMutex
	sess *store.Session // nil until opened
	seen backend.Log    // the log as it was just before it was last read
	tag  string         // identifies the state of the log that the tree has

	// kept guards what pages keep of the session: its transcript, with the state of the logs that it was made for, and the command that
	// continues the session.
	kept    sync.Mutex
	text    *transcript.Document
	state   string
	command *string
	sees    *page.Here // what the model sees at a leaf; seesAt identifies the log's state and the leaf
	seesAt  string
	// filing guards the edits of files that were asked for last, and the state of the log and the leaf that they belong to.
	filing  sync.Mutex
	files   []transcript.FileChange
	filesOf string
	edited  atomic.Int64 // the memory of files
	// referring guards the blobs that the entries refer to, and the state of the log that they belong to.
	referring sync.Mutex
	refs      map[blob.Ref]bool
	refsOf    string
}

// refers reports whether an entry refers to a blob. It is also true for a text that is not a reference: no such blob exists.
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
			if raw, err := t.At(i).Raw(); err == nil { // an entry that cannot be read refers to nothing
				for r := range blob.RefsIn(raw) {
					doc.refs[r] = true
				}
			}
		}
	}
	return doc.refs[ref]
}

// errGone means that the log of a document was replaced by another one.
var errGone = errors.New("the log was replaced")

// hold calls f with a session that is up to date with its log, and then send. f must not keep the session, nor wait for a client; send may
// wait. During send the session stays open and its tree may grow; send calls read to look at it.
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

// lend gives a search the log of a session that is already open or is large enough to be worth opening. Its tree does not grow until done
// is called.
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
	_ = doc.sess.Read(func(l *logtree.Log, _ logtree.Blobs) error { // returns the error of the function, which is nil
		log = l
		return nil
	})
	return log, func() {
		doc.mu.RUnlock()
		d.put(doc, false)
	}
}

// read calls f. The tree does not grow until f returns.
func (doc *document) read(f func(*document) error) error {
	doc.mu.RLock()
	defer doc.mu.RUnlock()
	if doc.sess == nil {
		return errGone
	}
	return f(doc)
}

// look returns the log as it is now. Requests call it concurrently; they wait for each other only if the log has changed.
func (doc *document) look(ctx context.Context, s *Server) (backend.Log, error) {
	at, err := s.store.Locate(doc.path)
	if err != nil {
		return backend.Log{}, err
	}
	now, err := at.Backend.Stat(ctx, at.Name)
	return now, logtree.Named(doc.path, err)
}

// isAt reports whether the session is up to date with the log now.
func (doc *document) isAt(now backend.Log) bool {
	doc.mu.RLock()
	defer doc.mu.RUnlock()
	return doc.sess != nil && doc.seen == now
}

// renew opens the session, or reads what was appended to it. now is the log as it was before this call.
func (doc *document) renew(ctx context.Context, s *Server, now backend.Log) error {
	doc.mu.Lock()
	defer doc.mu.Unlock()
	if doc.sess != nil && doc.seen == now {
		return nil // another request was faster
	}
	if doc.sess == nil {
		// Other requests wait for this one, so it is not cancelled when this one's client goes away.
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

// mark sets the tag to the state of the log that the tree has.
func (doc *document) mark() {
	log := doc.sess.Log()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d", doc.path, log.Generation, log.Size, log.Time.UnixNano()))
	doc.tag = hex.EncodeToString(sum[:8])
}

// take returns the document of a path. The caller must release it with put.
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

// put releases a document, and closes the least recently used ones if there are too many.
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

// takes estimates the memory of a document, including what pages keep of it.
func (doc *document) takes() int64 { return doc.size + doc.edited.Load() }

// measure estimates the memory of a document's session.
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

// forget drops a document, so that its session is opened anew after the server itself changed it.
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

// count returns the number of sessions held open, and their estimated memory.
func (d *documents) count() (n int, bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, doc := range d.open {
		bytes += doc.takes()
	}
	return len(d.open), bytes
}
