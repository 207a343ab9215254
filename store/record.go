package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// RunOptions say what a new run is.
type RunOptions struct {
	// Session is the id of the session that the run belongs to; "" where there is none.
	Session session.ID
	// Dialect is the agent in whose place the log is kept. nil: the place of the agent whose session it is, or that has
	// runs of it already, and otherwise one of our own.
	Dialect dialect.Dialect
	// Header is the header's record, as an agent wrote it; nil: it is made. Id, session, start and version are filled in
	// where they are missing.
	Header []byte
	// Write says how it is written: Durability, Observer, Clock and Random count.
	Write WriteOptions
}

// Recording is a run that is being recorded. Its methods may be called from several goroutines at once.
type Recording struct {
	*run.Recorder
	path  string
	level Durability
	b     backend.Backend

	// mu guards what follows. Records are appended one at a time, in the order in which the recorder gives them.
	mu     sync.Mutex
	at     backend.Log
	closed bool
}

// StartRun begins a run: its log is created, with its header, before it returns.
func (s *Store) StartRun(ctx context.Context, opt RunOptions) (*Recording, error) {
	opt.Write.fill()
	place, err := s.placeFor(ctx, opt)
	if err != nil {
		return nil, err
	}
	raw, h, err := newRunHeader(place.d, opt)
	if err != nil {
		return nil, err
	}
	name, err := place.d.RunName(h)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(place.dir, filepath.FromSlash(name))
	b, err := s.writeDir(filepath.Dir(file), file, opt.Write)
	if err != nil {
		return nil, err
	}
	r := &Recording{path: file, level: opt.Write.Durability, b: b}
	// A run that could not be begun is known at once, not at its first record.
	if r.at, err = b.Create(ctx, path.Base(name), raw); err != nil {
		return nil, errors.Join(named(file, err), b.Close())
	}
	r.Recorder = run.NewRecorder(h, r.options(place.d, opt.Write))
	return r, nil
}

// ContinueRun goes on with a run that was recorded before and has not ended. A torn end is moved aside by the first append,
// as in every log.
func (s *Store) ContinueRun(ctx context.Context, file string, opt WriteOptions) (*Recording, error) {
	opt.fill()
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	places := s.runPlaces()
	if len(places) == 0 {
		return nil, fmt.Errorf("%s: recording runs is %w", file, ErrUnsupported)
	}
	b, err := s.writeDir(filepath.Dir(abs), file, opt)
	if err != nil {
		return nil, err
	}
	old, at, err := openRun(ctx, b, filepath.Base(abs))
	if err != nil {
		return nil, errors.Join(named(file, err), b.Close())
	}
	r := &Recording{path: file, level: opt.Durability, b: b, at: at}
	// All dialects of runs write the same records; they differ in where they keep them.
	r.Recorder, err = run.ContinueRecorder(old.Log, r.options(places[0].d, opt))
	if err == nil && r.Ended() {
		err = run.ErrEnded
	}
	if err = first(err, old.source.Close()); err != nil {
		return nil, errors.Join(named(file, err), b.Close())
	}
	return r, nil
}

// options ties the recorder to the dialect's spelling and to this log.
func (r *Recording) options(d dialect.Runs, opt WriteOptions) run.RecorderOptions {
	return run.RecorderOptions{Encode: d.RunRecord, Append: r.append, Clock: opt.Clock}
}

// Path is the file.
func (r *Recording) Path() string { return r.path }

// append adds a record to the log. A run has one writer: what somebody else wrote into its log is not built upon.
func (r *Recording) append(ctx context.Context, record []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return named(r.path, ErrClosed)
	}
	// Each time somebody only touched the file.
	for range patience {
		at, err := r.b.Append(ctx, r.at, record)
		if err == nil {
			r.at = at
			return nil
		}
		if !errors.Is(err, backend.ErrConflict) {
			return named(r.path, err)
		}
		now, err := r.b.Stat(ctx, r.at.Name)
		if err != nil {
			return named(r.path, err)
		}
		// Longer or shorter: somebody else wrote. A conflict without that is a time that changed.
		if now.Size != r.at.Size {
			return named(r.path, ErrForeign)
		}
		for _, err := range r.b.Read(ctx, now, now.Size) { // touched, or another one of the same length
			return named(r.path, err)
		}
		r.at = now
	}
	return named(r.path, backend.ErrConflict)
}

// Close ends the recording; the run may go on later unless it has ended. Unless the durability is DurabilityNone, what was
// recorded then survives a crash of the machine. A second call does nothing.
func (r *Recording) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var err error
	if r.level != DurabilityNone {
		err = named(r.path, syncLog(context.Background(), r.b, r.at))
	}
	return first(err, r.b.Close())
}

// placeFor decides where the log of a new run is kept. Runs of one session stay together, also where their session cannot
// be found any more.
func (s *Store) placeFor(ctx context.Context, opt RunOptions) (runPlace, error) {
	places := s.runPlaces()
	if opt.Dialect != nil {
		d, ok := dialect.AsRuns(opt.Dialect)
		if !ok {
			return runPlace{}, fmt.Errorf("%s keeps no runs: recording them in its place is %w", opt.Dialect.Name(), ErrUnsupported)
		}
		// Where the agent itself would write it.
		return runPlace{d: d, dir: d.Dialect.Layout().Roots(s.opt.Env)[0].Sessions}, nil
	}
	id := cmp.Or(string(opt.Session), rawjson.Str(opt.Header, "session_id"))
	own := slices.IndexFunc(places, func(p runPlace) bool { return p.own })
	if id != "" {
		row, err := s.Find(ctx, id)
		// Find takes beginnings of ids as well: here only the id itself counts.
		known := err == nil && string(row.ID) == id
		for _, p := range places {
			if p.own {
				continue
			}
			if known && within(p.dir, row.Path) {
				return p, nil // the agent's session: its run too
			}
			rows, err := s.runsIn(ctx, p, RunListOptions{})
			if err != nil {
				return runPlace{}, err
			}
			if slices.ContainsFunc(rows, func(r RunRow) bool { return r.Err == nil && r.Header.SessionID == id }) {
				return p, nil
			}
		}
	}
	if own >= 0 {
		return places[own], nil
	}
	return runPlace{}, fmt.Errorf("there is no place for runs: %w", ErrUnsupported)
}

// newRunHeader completes a header, or makes one.
func newRunHeader(d dialect.Runs, opt RunOptions) ([]byte, run.Header, error) {
	raw := rawjson.Compact(opt.Header)
	if raw == nil {
		raw = []byte(`{"type":"header"}`)
	}
	if !rawjson.IsObject(raw) || !rawjson.Valid(raw) || rawjson.Str(raw, "type") != string(run.TypeHeader) {
		return nil, run.Header{}, run.ErrNotHeader
	}
	// null counts as missing: that is how programs write what they do not know.
	missing := func(key string) bool { return rawjson.IsNull(rawjson.Get(raw, key)) }
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
	// A run under the wrong session would never be found by its own.
	case opt.Session != "" && h.SessionID != string(opt.Session):
		return nil, h, fmt.Errorf("the header is of session %q, not of %q", h.SessionID, opt.Session)
	}
	return rawjson.EscapeBreaks(raw), h, nil
}
