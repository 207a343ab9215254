package runs

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// ErrClosed: the recording was closed.
var ErrClosed = errors.New("the recording is closed")

// StartOptions describe a new run.
type StartOptions struct {
	// Session is the id of the session that the run belongs to; "" for none.
	Session session.ID
	// Dialect is the agent in whose place the log is kept. nil means the agent of the session, or the one that already has runs of it, else
	// treeline's own place.
	Dialect dialect.Dialect
	// Header is the header as the agent wrote it; nil makes one. Missing members (id, session, start, version) are filled
	// in.
	Header []byte
	Write  WriteOptions
}

// WriteOptions say how a run is written.
type WriteOptions struct {
	// Durability says what an append survives when it returns; "" is backend.DurabilityFlush.
	Durability backend.Durability
	// Mended, if set, is called when an append mended the end of the log first.
	Mended func(backend.Mended)
	// Clock and Random are the sources of times and ids; nil means those of the machine.
	Clock  func() time.Time
	Random io.Reader
}

func (o *WriteOptions) fill() {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
}

// Recording is a run that is being recorded. Its methods may be called from several goroutines at once.
type Recording struct {
	*run.Recorder
	loc        place.Location
	release    func() error
	durability backend.Durability

	mu     sync.Mutex // guards what follows, and keeps appends in the order of the recorder
	at     backend.Log
	closed bool
}

// Start begins a run. It creates the log with its header before it returns, so that a run that cannot be recorded fails at once and not at
// its first record.
func (l *Logs) Start(ctx context.Context, opt StartOptions) (*Recording, error) {
	opt.Write.fill()
	src, err := l.placeFor(ctx, opt)
	if err != nil {
		return nil, err
	}
	d := src.Dialect.(dialect.Runs)
	raw, h, err := newHeader(d, opt)
	if err != nil {
		return nil, err
	}
	name, err := d.RunName(h)
	if err != nil {
		return nil, err
	}
	r, err := l.recording(src.PathOf(name), opt.Write)
	if err != nil {
		return nil, err
	}
	if r.at, err = r.loc.Backend.Create(ctx, r.loc.Name, raw); err != nil {
		return nil, errors.Join(logtree.Named(r.loc.Path, err), r.release())
	}
	r.Recorder = run.NewRecorder(h, r.options(opt.Write))
	return r, nil
}

// Continue resumes the recording of a run that has not ended. The first append moves a torn end aside, as in every log.
func (l *Logs) Continue(ctx context.Context, path string, opt WriteOptions) (*Recording, error) {
	opt.fill()
	r, err := l.recording(path, opt)
	if err != nil {
		return nil, err
	}
	if err := r.resume(ctx, opt); err != nil {
		return nil, errors.Join(err, r.release())
	}
	return r, nil
}

// resume reads what was recorded.
func (r *Recording) resume(ctx context.Context, opt WriteOptions) error {
	old, at, err := open(ctx, r.loc)
	if err != nil {
		return err
	}
	r.at = at
	r.Recorder, err = run.ContinueRecorder(old.Log, r.options(opt))
	if err == nil && r.Ended() {
		err = run.ErrEnded
	}
	return logtree.Named(r.loc.Path, cmp.Or(err, old.Close()))
}

// recording locates the log of a run for writing.
func (l *Logs) recording(path string, opt WriteOptions) (r *Recording, err error) {
	r = &Recording{durability: opt.Durability}
	r.loc, r.release, err = l.m.LocateWriting(path, opt.Durability, opt.Mended)
	return r, err
}

func (r *Recording) options(opt WriteOptions) run.RecorderOptions {
	return run.RecorderOptions{Append: r.append, Clock: opt.Clock}
}

// Path returns the log's path for people.
func (r *Recording) Path() string { return r.loc.Path }

// append adds a record to the log. A run has one writer: it fails with backend.ErrConflict if another process wrote.
func (r *Recording) append(ctx context.Context, record []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return logtree.Named(r.loc.Path, ErrClosed)
	}
	b := r.loc.Backend
	for try := 0; ; try++ {
		at, err := b.Append(ctx, r.at, record)
		if err == nil {
			r.at = at
			return nil
		}
		// The backend returns the cause only if nothing was written.
		if errors.Is(err, backend.ErrLocked) || ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			return &run.UnwrittenError{Err: logtree.Named(r.loc.Path, err)}
		}
		if !errors.Is(err, backend.ErrConflict) || try == logtree.Retries {
			return logtree.Named(r.loc.Path, err)
		}
		tail := logtree.Tail{Backend: b, At: r.at}
		now, change, lookErr := tail.Look(ctx)
		if lookErr != nil || change != logtree.Same {
			return logtree.Named(r.loc.Path, cmp.Or(lookErr, err))
		}
		r.at = now // only its time changed
	}
}

// Close ends the recording; the run can be continued later unless it has ended. Unless the durability is backend.DurabilityNone, what was
// recorded then survives a crash of the machine. A second call does nothing.
func (r *Recording) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var err error
	if r.durability != backend.DurabilityNone {
		err = logtree.Named(r.loc.Path, backend.Sync(context.Background(), r.loc.Backend, r.at))
	}
	return errors.Join(err, r.release())
}

// placeFor decides where the log of a new run is kept. The runs of one session stay together, even if the session itself
// cannot be found any more.
func (l *Logs) placeFor(ctx context.Context, opt StartOptions) (place.Source, error) {
	if d := opt.Dialect; d != nil {
		if !place.IsRuns(d) {
			return place.Source{}, fmt.Errorf("%s keeps no runs: recording them in its place is %w", d.Name(), dialect.ErrUnsupported)
		}
		return place.Source{Dialect: d, Root: d.Layout().Roots(l.m.Env())[0]}, nil
	}
	sources := l.m.RunSources()
	own := slices.IndexFunc(sources, func(src place.Source) bool { return src.Why == place.WhyOwn })
	if id := cmp.Or(string(opt.Session), rawjson.Str(opt.Header, "session_id")); id != "" {
		row, err := l.m.Find(ctx, id)
		known := err == nil && string(row.ID) == id // Find matches prefixes as well
		for i, src := range sources {
			if i == own {
				continue
			}
			if known && place.Within(src.Root.Sessions, row.Path) {
				return src, nil
			}
			rows, err := l.listSource(ctx, src, ListOptions{})
			if err != nil {
				return place.Source{}, err
			}
			if slices.ContainsFunc(rows, func(r Row) bool { return r.Err == nil && r.Header.SessionID == id }) {
				return src, nil
			}
		}
	}
	if own >= 0 {
		return sources[own], nil
	}
	return place.Source{}, fmt.Errorf("there is no place for runs: %w", dialect.ErrUnsupported)
}

// newHeader completes a header, or makes one. A member that is null counts as missing.
func newHeader(d dialect.Runs, opt StartOptions) ([]byte, run.Header, error) {
	raw := rawjson.Compact(opt.Header)
	if raw == nil {
		raw = []byte(`{"type":"header"}`)
	}
	if !rawjson.IsObject(raw) || !rawjson.Valid(raw) {
		return nil, run.Header{}, run.ErrNotHeader
	}
	missing := func(key string) bool { return rawjson.IsNull(rawjson.Get(raw, key)) }
	if missing("type") {
		raw = rawjson.Set(raw, "type", rawjson.Quote(string(run.TypeHeader)))
	}
	if missing("schema_version") {
		raw = rawjson.Set(raw, "schema_version", fmt.Append(nil, run.SchemaVersion))
	}
	if missing("run_id") {
		id, err := d.NewRunID(opt.Write.Random)
		if err != nil {
			return nil, run.Header{}, err
		}
		raw = rawjson.Set(raw, "run_id", rawjson.Quote(id))
	}
	if missing("session_id") && opt.Session != "" {
		raw = rawjson.Set(raw, "session_id", rawjson.Quote(string(opt.Session)))
	}
	if missing("started_at") {
		raw = rawjson.Set(raw, "started_at", []byte(session.TimeOf(opt.Write.Clock()).Text))
	}
	h, err := run.DecodeHeader(raw)
	switch {
	case err != nil:
		return nil, h, err
	case h.SchemaVersion != run.SchemaVersion:
		return nil, h, fmt.Errorf("%w: only %d is written", run.ErrNewer, run.SchemaVersion)
	case opt.Session != "" && h.SessionID != string(opt.Session):
		return nil, h, fmt.Errorf("the header is of session %q, not of %q", h.SessionID, opt.Session)
	}
	return rawjson.EscapeBreaks(raw), h, nil
}
