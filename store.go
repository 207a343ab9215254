package treeline

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/unread"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/find/listing"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/repair"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/store/state"
	"github.com/treeline-dev/treeline/trash"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/watch"
)

// Store is the sessions of a machine, and what can be done with them. The embedded store.Store opens, creates and forks
// single sessions; the place.Machine in it has places and lists. Each method here adds one
// capability. Several goroutines may use a Store at once.
type Store struct {
	*store.Store
	index  *index.Index
	find   *find.Finder
	runs   *runs.Logs
	repair *repair.Repairer
	trash  *trash.Trash
	state  string // treeline's own folder
	clock  func() time.Time
	rooted bool // Options.Roots was set
}

// assemble adds the capabilities to a store.
func assemble(m *place.Machine, ix *index.Index, beside index.Shared, state string, clock func() time.Time) *Store {
	s := store.New(store.Options{Machine: m, State: state})
	finder := find.New(m, ix, clock)
	if beside != nil {
		finder = find.NewShared(m, beside, clock)
	}
	return &Store{
		Store:  s,
		index:  ix,
		find:   finder,
		runs:   runs.New(m),
		repair: repair.New(m, s.NoteFolder),
		trash:  trash.New(trash.Options{Machine: m, State: state, Folders: s, Clock: clock}),
		state:  state,
		clock:  clock,
	}
}

// Close closes all backends and the index. Sessions must be closed before. A second call does nothing.
func (s *Store) Close() error { return errors.Join(s.find.Close(), s.Store.Close()) }

// Catalogue returns the sessions of all sources, newest first, with everything that is known about them. It brings the catalogue up to
// date first; List is cheaper and knows less.
func (s *Store) Catalogue(ctx context.Context, opt RefreshOptions) ([]Row, error) {
	return s.find.Catalogue(ctx, opt)
}

// Listing is Catalogue without rows in memory, for lists that may be long; see package listing.
func (s *Store) Listing(ctx context.Context, opt RefreshOptions) (*listing.List, error) {
	return s.find.Listing(ctx, opt)
}

// Page returns a page of the catalogue: sessions that a filter lets through, sorted. Rows of logs that are not sessions are left out.
func (s *Store) Page(ctx context.Context, f Filter, opt PageOptions) (Page, error) {
	narrow, err := s.narrow(ctx, f)
	if err != nil {
		return Page{}, err
	}
	narrow.Project = opt.Filter.Project
	opt.Filter = narrow
	return s.find.List(ctx, opt)
}

// Paged reports whether the cost of Page depends only on the page, because the sessions are in an archive with an index of its own.
func (s *Store) Paged() bool { return s.find.Paged() }

// Index returns the index beside the sessions of an archive, nil if the archive has none. If fresh is set, it is brought up to date first.
// The Store closes it.
func (s *Store) Index(ctx context.Context, fresh bool, opt RefreshOptions) (index.Shared, error) {
	return s.find.Beside(ctx, fresh, opt)
}

// LookUp returns the sessions that any of the keys names. In an archive with an index of its own, its cost depends only on these sessions.
func (s *Store) LookUp(ctx context.Context, k find.Keys) ([]Row, error) { return s.find.LookUp(ctx, k) }

// Kin returns the rows and the sessions that they depend on; see find.KinOptions.
func (s *Store) Kin(ctx context.Context, rows []Row, opt find.KinOptions) ([]Row, error) {
	return s.find.Kin(ctx, rows, opt)
}

// Each calls take with the sessions that a filter lets through, newest first, in batches. all are the rows of the batch and the
// sessions that they depend on; see find.Finder.Each. Each sets the Filter of the options, except for Project.
func (s *Store) Each(ctx context.Context, f Filter, opt find.EachOptions, take func(rows, all []Row) error) error {
	narrow, err := s.narrow(ctx, f)
	if err != nil {
		return err
	}
	narrow.Project = opt.Filter.Project
	opt.Filter = narrow
	return s.find.Each(ctx, opt, take)
}

// Projects returns the working directories of the sessions in an archive with an index of its own, in order.
func (s *Store) Projects(ctx context.Context) ([]string, error) { return s.find.Projects(ctx) }

// Models returns the models that answered in any session, according to the stored catalogue.
func (s *Store) Models() []string { return s.find.Models() }

// Search finds the matches of a query in all sessions and runs.
func (s *Store) Search(ctx context.Context, text string, opt SearchOptions) (*SearchResult, error) {
	return s.find.Search(ctx, text, opt)
}

// Stats sums up what sessions used. It comes from the catalogue: only logs that changed are read. Forks and copies are not
// counted twice; see package usage.
func (s *Store) Stats(ctx context.Context, opt StatsOptions) (Stats, error) {
	sum := usage.New(usage.Options{
		By: opt.By, Since: opt.Filter.Since, Until: opt.Filter.Until, Model: opt.Filter.Model, Zone: opt.Zone,
	})
	narrow := opt.Filter
	narrow.Since, narrow.Until = time.Time{}, time.Time{} // a session may have messages both within and outside this time
	each := find.EachOptions{RefreshOptions: opt.Refresh, Kin: find.KinOptions{Repeats: true}, Since: usage.From(opt.Filter.Since)}
	err := s.Each(ctx, narrow, each, func(rows, all []Row) error {
		sum.Add(usage.Look(all), rows)
		return nil
	})
	return sum.Report(), err
}

// LookAtSources describes the contents of each source.
func (s *Store) LookAtSources(ctx context.Context) ([]place.SourceInfo, error) {
	if s.Paged() {
		if list, err := s.find.Sources(ctx, RefreshOptions{}); !errors.Is(err, index.ErrNone) {
			return list, err
		}
	}
	return s.Machine.LookAtSources(ctx, s.index.Catalogue())
}

// Unread returns the agents of this machine whose sessions cannot be read yet. It gives none if Options.Roots is set.
func (s *Store) Unread() []unread.Agent {
	if s.rooted {
		return nil
	}
	return unread.Find(s.Env(), runtime.GOOS)
}

// Filter keeps the rows that the filter lets through. It reuses the slice.
func (s *Store) Filter(ctx context.Context, rows []Row, f Filter) ([]Row, error) {
	narrow, err := s.narrow(ctx, f)
	if err != nil {
		return nil, err
	}
	return s.Machine.Filter(rows, narrow)
}

// Condition returns a filter as a function that reports whether a row passes.
func (s *Store) Condition(ctx context.Context, f Filter) (func(*Row) bool, error) {
	narrow, err := s.narrow(ctx, f)
	if err != nil {
		return nil, err
	}
	return s.Machine.Condition(narrow)
}

// narrow converts a filter to that of package place: it looks up the sessions that have runs.
func (s *Store) narrow(ctx context.Context, f Filter) (place.Filter, error) {
	narrow := place.Filter{
		Source: f.Source, CWD: f.CWD, Since: f.Since, Until: f.Until, Model: f.Model, Title: f.Title, Has: f.Has,
	}
	if f.Run {
		with, err := s.sessionsWithRuns(ctx)
		if err != nil {
			return narrow, err
		}
		narrow.Only = func(r *Row) bool { return r.ID != "" && with[r.ID] }
	}
	return narrow, nil
}

// Find returns the session that the user named; see place.Machine.Find. If no session matches, a run may: its log is read as
// a session.
func (s *Store) Find(ctx context.Context, ref string) (Row, error) {
	source, ref := s.SplitSource(ref)
	return s.FindIn(ctx, source, ref)
}

// FindIn is Find among the sessions of a source: the name of a dialect, the folder of a source, or "" for all.
func (s *Store) FindIn(ctx context.Context, source, ref string) (Row, error) {
	_, last := place.Last(ref)
	if s.Paged() && ref != "" {
		row, err := s.findArchived(ctx, source, ref)
		switch {
		case errors.Is(err, index.ErrNone):
		case last || !errors.Is(err, place.ErrNoSession):
			return row, err
		}
		// The reference may also name a file, or be an id in another case.
	}
	row, err := s.Machine.FindIn(ctx, source, ref)
	if !errors.Is(err, place.ErrNoSession) || ref == "" || last {
		return row, err
	}
	if d, unknown := s.Dialect(source); source != "" && (unknown != nil || !place.IsRuns(d)) {
		return row, err // the source has only sessions
	}
	r, runErr := s.FindRun(ctx, ref)
	if runErr != nil {
		return row, err
	}
	return Row{
		Dialect: s.DialectAt(r.Path), Path: r.Path, Log: r.Log,
		Summary: dialect.Summary{ID: session.ID(r.Header.RunID), CWD: r.CWD(), Prompt: r.Prompt, OK: true},
	}, nil
}

// Watch reports what any program writes to sessions, until ctx is cancelled or the loop over it ends.
func (s *Store) Watch(ctx context.Context, opt WatchOptions) iter.Seq2[Change, error] {
	if opt.CWD != "" && opt.Path == "" && opt.Here == nil && s.Paged() {
		opt.Here = func(ctx context.Context) (map[string]bool, error) { return s.pathsIn(ctx, opt.CWD) }
	}
	return watch.Watch(ctx, s.Machine, opt)
}

// Listen reports that sessions changed, but not how. It costs nothing while nothing happens; see watch.Listen.
func (s *Store) Listen(ctx context.Context) (*Listener, error) { return watch.Listen(ctx, s.Machine) }

// Convert makes a session of another dialect from the session at a path, which is only read.
func (s *Store) Convert(ctx context.Context, path string, opt ConvertOptions) (*Session, ConvertReport, error) {
	return convert.File(ctx, s.Store, path, opt)
}

// ConvertSession is Convert for an open session.
func (s *Store) ConvertSession(ctx context.Context, src *Session, opt ConvertOptions) (*Session, ConvertReport, error) {
	return convert.Session(ctx, s.Store, src, opt)
}

// Runs returns the runs of all places, newest first.
func (s *Store) Runs(ctx context.Context, opt RunListOptions) ([]RunRow, error) {
	if s.Paged() {
		if rows, err := s.archivedRuns(ctx, opt); !errors.Is(err, index.ErrNone) {
			return rows, err
		}
	}
	return s.runs.List(ctx, opt)
}

// FindRun returns the run that the user named: "@last", "@last~1", an id, or the beginning of one, each with or without an agent and a
// colon before it.
func (s *Store) FindRun(ctx context.Context, ref string) (RunRow, error) {
	if s.Paged() {
		if row, err := s.findArchivedRun(ctx, ref); !errors.Is(err, index.ErrNone) {
			return row, err
		}
	}
	return s.runs.Find(ctx, ref)
}

// OpenRun opens the run at a path for reading.
func (s *Store) OpenRun(ctx context.Context, path string) (*Run, error) {
	return s.runs.Open(ctx, path)
}

// HoldsRuns reports whether there is a run log in a folder or below it.
func (s *Store) HoldsRuns(ctx context.Context, dir string) bool { return s.runs.Holds(ctx, dir) }

// StartRun starts to record a run.
func (s *Store) StartRun(ctx context.Context, opt RunOptions) (*Recording, error) {
	return s.runs.Start(ctx, opt)
}

// ContinueRun resumes the recording of a run that has not ended.
func (s *Store) ContinueRun(ctx context.Context, path string, opt runs.WriteOptions) (*Recording, error) {
	return s.runs.Continue(ctx, path, opt)
}

// Check lists everything that is wrong with a session. Appends wait meanwhile.
func (s *Store) Check(ctx context.Context, sess *Session) (problems []Problem, err error) {
	err = sess.Read(func(l *logtree.Log, blobs logtree.Blobs) error {
		problems, err = repair.Check(ctx, l, blobs)
		return err
	})
	return problems, err
}

// Secrets finds keys, tokens and passwords in the log at a path. A log that cannot be read as a session is looked at as well.
func (s *Store) Secrets(ctx context.Context, path string, opt OpenOptions) (list []Secret, err error) {
	sess, err := s.Open(ctx, path, opt)
	if err != nil {
		return s.repair.Secrets(ctx, path, nil)
	}
	defer sess.Close()
	err = sess.Read(func(l *logtree.Log, _ logtree.Blobs) error {
		list, err = s.repair.Secrets(ctx, path, l)
		return err
	})
	return list, err
}

// PlanRepair says what Repair would do to the log at a path. Nothing is written.
func (s *Store) PlanRepair(ctx context.Context, path string, opt RepairOptions) (*RepairPlan, error) {
	return s.repair.Plan(ctx, path, opt)
}

// Repair repairs the log at a path. The old log is kept beside it.
func (s *Store) Repair(ctx context.Context, path string, opt RepairOptions) (*RepairPlan, error) {
	return s.repair.Repair(ctx, path, opt)
}

// Trash moves the session at a path to the trash.
func (s *Store) Trash(ctx context.Context, path string) (Trashed, error) {
	return s.trash.Put(ctx, path)
}

// TrashAs is Trash for a writer, whose name an archive notes; see WriteOptions. If may returns an error for the session that is at the path
// now, it stays there.
func (s *Store) TrashAs(ctx context.Context, writer backend.Writer, path string, may func(session.Header) error) (Trashed, error) {
	return s.trash.PutAs(ctx, writer, path, may)
}

// TrashHeld is Trash even if another program has the log open for writing, or other sessions continue it. What that program
// writes later is lost, and the other sessions lose what comes before their own entries.
func (s *Store) TrashHeld(ctx context.Context, path string) (Trashed, error) {
	return s.trash.PutHeld(ctx, path)
}

// Trashed lists the trash, the last removed first.
func (s *Store) Trashed(ctx context.Context) ([]Trashed, error) { return s.trash.List(ctx) }

// OpenSaved opens a session that its agent saves as a whole; see state.Open.
func (s *Store) OpenSaved(ctx context.Context, dialect string, id session.ID) (*Session, error) {
	return state.Open(ctx, s.Store, dialect, id)
}

// Save replaces such a session; see state.Save.
func (s *Store) Save(ctx context.Context, dialect string, id session.ID, records [][]byte, version string) (*Session, error) {
	return state.Save(ctx, s.Store, dialect, id, records, version)
}

// Restore puts a session back from the trash, named by its id there or the beginning of it.
func (s *Store) Restore(ctx context.Context, id string) (Trashed, error) {
	return s.trash.Restore(ctx, id)
}

// EmptyTrash permanently removes what has been in the trash since before that time.
func (s *Store) EmptyTrash(ctx context.Context, before time.Time) ([]Trashed, error) {
	return s.trash.Empty(ctx, before)
}

// GC finds blobs without references, and files that crashes left unfinished.
func (s *Store) GC(ctx context.Context, opt GCOptions) (GCReport, error) { return s.trash.GC(ctx, opt) }
