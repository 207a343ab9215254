package treeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline/index/history"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/store"
)

// HistoryImport says what an import did.
type HistoryImport struct {
	// Sessions were read; Unchanged were not, because nothing changed in them since the last time; Failed could not be.
	Sessions, Unchanged int
	Failed              []string
	// Prompts were found in the sessions; TooLong of them were left out. Added were new to the history; Renewed were in it
	// and have been used since.
	Prompts, TooLong, Added, Renewed int
	// Aside is where a damaged history was moved to, Saved how many prompts could be read of it.
	Aside string
	Saved int
}

// What one transaction of an import holds at most: what is lost when the process is killed.
const (
	importSessions = 1000
	importBytes    = 32 << 20
)

// longestPrompt is what is still a prompt. What is longer was pasted, and nobody wants to recall it.
const longestPrompt = 1 << 20

// ImportHistory adds what people typed in the sessions of this machine: all of them for our own history, those of the
// agent for an agent's. A prompt is kept once, with the time of its last use; where each was used is kept in the cache:
// see HistoryPlaces. A session that did not change since the last time is not read again. When ctx ends, what was read
// until then is kept, and the next import goes on from there.
func ImportHistory(ctx context.Context, opt HistoryOptions) (HistoryImport, error) {
	p, err := opt.paths()
	if err != nil {
		return HistoryImport{}, err
	}
	report, err := importHistory(ctx, opt, p)
	if p.own && errors.Is(err, ErrHistoryDamaged) {
		return rebuildHistory(ctx, opt, p, false) // which imports
	}
	return report, err
}

func importHistory(ctx context.Context, opt HistoryOptions, p historyPlaces) (HistoryImport, error) {
	i := importing{opt: opt, paths: p}
	var err error
	if i.store, err = opt.sessions(); err != nil {
		return i.report, err
	}
	if i.history, err = history.Open(ctx, p.db, history.Options{Guest: !p.own}); err != nil {
		return i.report, err
	}
	if i.places, err = i.openPlaces(ctx); err == nil {
		err = i.run(ctx)
		err = errors.Join(err, i.places.Close())
	}
	return i.report, errors.Join(err, i.history.Close())
}

// sessions is the store to read them from.
func (o HistoryOptions) sessions() (*Store, error) {
	if o.Store != nil {
		return o.Store, nil
	}
	sources := o.Options
	sources.ReadOnly = true
	return New(sources)
}

// importing is an import at work.
type importing struct {
	opt     HistoryOptions
	paths   historyPlaces
	store   *Store
	history *History // nil: no prompt is added, and only the places are collected
	places  *history.Places
	report  HistoryImport

	// What was read and is not yet written.
	prompts []Prompt
	uses    []history.Uses
	bytes   int
}

// openPlaces opens the cache. Where it cannot be written, and for a history that is not ours, it is in memory: then all
// sessions are read each time.
func (i *importing) openPlaces(ctx context.Context) (*history.Places, error) {
	if i.paths.own {
		p, err := i.placesAt(ctx, i.paths.places)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrHistoryDamaged) {
			return p, err
		}
		i.opt.notice("where prompts were used is not kept: %v", err)
	}
	return i.placesAt(ctx, "")
}

func (i *importing) placesAt(ctx context.Context, path string) (*history.Places, error) {
	p, err := history.OpenPlaces(ctx, path, history.Options{})
	if err != nil {
		return nil, err
	}
	if p.Anew() != "" {
		i.opt.notice("where prompts were used is collected anew: %s", p.Anew())
	}
	if err := i.bind(ctx, p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// bind says to which history the places belong, as it is now.
func (i *importing) bind(ctx context.Context, p *history.Places) error {
	if i.history == nil {
		return nil
	}
	info, err := durable.OS{}.Stat(i.paths.db)
	if err != nil {
		return err
	}
	last, err := i.history.Last(ctx)
	if err != nil {
		return err
	}
	return p.Bind(ctx, fmt.Sprintf("%s %d %d", i.paths.db, info.Dev, info.Ino), last)
}

func (i *importing) run(ctx context.Context) error {
	known, err := i.places.Stamps(ctx)
	if err != nil {
		return err
	}
	rows, err := i.store.List(ctx, store.ListOptions{Problem: func(err error) { i.opt.notice("%v", err) }})
	if err != nil {
		return err
	}
	if !i.paths.own {
		agent := filepath.Dir(i.paths.db)
		rows = slices.DeleteFunc(rows, func(r store.Row) bool { return filepath.Dir(r.Source.Root.Sessions) != agent })
	}
	slices.Reverse(rows) // oldest first
	there := map[string]bool{}
	for n := range rows {
		if ctx.Err() != nil {
			break
		}
		r := &rows[n]
		there[r.Path] = true
		if s := stampOf(r); r.Err == nil && known[r.Path] == s {
			i.report.Unchanged++
		} else if err := i.read(ctx, r, s); err != nil {
			return errors.Join(err, i.write(ctx))
		}
		if i.opt.Progress != nil {
			i.opt.Progress(n+1, len(rows))
		}
		if i.history != nil && (len(i.uses) >= importSessions || i.bytes >= importBytes) {
			if err := i.write(ctx); err != nil {
				return err
			}
		}
	}
	if i.history == nil && ctx.Err() != nil {
		return context.Cause(ctx) // half of the places would be taken for all of them
	}
	if err := i.write(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return i.places.Put(ctx, nil, gone(known, there))
}

// gone gives the sessions that are known and are not there any more.
func gone(known map[string]string, there map[string]bool) (list []string) {
	for path := range known {
		if there[path] {
			continue
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			list = append(list, path)
		}
	}
	return list
}

func stampOf(r *store.Row) string {
	return fmt.Sprintf("%s %d %d", r.Log.Generation, r.Log.Size, r.Log.Time.UnixNano())
}

// read takes the prompts of one session. A session that cannot be read is no error: the others can.
func (i *importing) read(ctx context.Context, r *store.Row, stamp string) error {
	s, err := i.store.Open(ctx, r.Path, store.OpenOptions{})
	if err != nil {
		if ctx.Err() == nil {
			i.report.Failed = append(i.report.Failed, r.Path)
		}
		return nil
	}
	defer s.Close()
	u := history.Uses{Path: r.Path, Stamp: stamp, Dialect: s.Dialect().Name(), Session: cmp.Or(s.ID(), r.ID), CWD: cmp.Or(s.Header().CWD, r.CWD)}
	var prompts []Prompt
	for p, err := range s.Prompts(ctx) {
		switch {
		case ctx.Err() != nil:
			return nil // half a session is none
		case err != nil:
			continue // a line that cannot be read; check tells of it
		}
		i.report.Prompts++
		if len(p.Text) > longestPrompt {
			i.report.TooLong++
			continue
		}
		i.bytes += len(p.Text)
		prompts = append(prompts, Prompt{Text: p.Text, CWD: u.CWD, At: p.At})
		u.List = append(u.List, history.Use{Key: history.KeyOf(p.Text), Entry: p.Entry, At: p.At})
	}
	i.report.Sessions++
	if i.history == nil {
		u.Stamp, prompts = "", nil // the next import has yet to add them
	}
	i.prompts, i.uses = append(i.prompts, prompts...), append(i.uses, u)
	return nil
}

// write keeps what was read, also when nobody waits for more. The prompts come first: a crash in between has the sessions
// read again, which adds nothing.
func (i *importing) write(ctx context.Context) error {
	if len(i.uses) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if i.history != nil {
		done, err := i.history.Import(ctx, i.prompts)
		if err != nil {
			return err
		}
		i.report.Added += done.Added
		i.report.Renewed += done.Renewed
	}
	uses := i.uses
	i.prompts, i.uses, i.bytes = nil, nil, 0
	if err := i.bind(ctx, i.places); err != nil {
		return err
	}
	return i.places.Put(ctx, uses, nil)
}

// HistoryPlace is where a prompt was used.
type HistoryPlace = history.Place

// HistoryPlaces knows where prompts were used, as of the last import.
type HistoryPlaces struct{ p *history.Places }

// OpenHistoryPlaces opens what ImportHistory wrote down. It is a cache: where there is a history and this is missing or
// damaged, the sessions are read again (see Progress), and the history stays as it is. What cannot be kept is in memory, and
// Notice is told. Without a history no prompt was used anywhere.
func OpenHistoryPlaces(ctx context.Context, opt HistoryOptions) (*HistoryPlaces, error) {
	paths, err := opt.paths()
	if err != nil {
		return nil, err
	}
	p, err := history.ReadPlaces(ctx, paths.places, history.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(paths.db); err != nil || p.Anew() == "" {
		return &HistoryPlaces{p}, nil
	}
	if err := p.Close(); err != nil {
		return nil, err
	}
	if p, err = collectPlaces(ctx, opt, paths); err != nil {
		return nil, err
	}
	return &HistoryPlaces{p}, nil
}

// collectPlaces reads where prompts were used from all sessions, and keeps it all at once or not at all.
func collectPlaces(ctx context.Context, opt HistoryOptions, paths historyPlaces) (*history.Places, error) {
	paths.own = true // whosever the history is, the cache is ours, and one for all
	i := importing{opt: opt, paths: paths}
	var err error
	if i.store, err = opt.sessions(); err != nil {
		return nil, err
	}
	if i.places, err = i.openPlaces(ctx); err != nil {
		return nil, err
	}
	err = i.run(ctx)
	if err == nil {
		return i.places, nil
	}
	_ = i.places.Close() // the first error says more
	if ctx.Err() != nil {
		return nil, err
	}
	// A disk that is full, or damage further inside: an answer needs neither.
	opt.notice("where prompts were used is not kept: %v", err)
	i.prompts, i.uses, i.bytes = nil, nil, 0
	if i.places, err = i.placesAt(ctx, ""); err != nil {
		return nil, err
	}
	if err = i.run(ctx); err != nil {
		return nil, errors.Join(err, i.places.Close())
	}
	return i.places, nil
}

// Of gives the places where a prompt was used, the last one first, no more than limit.
func (p *HistoryPlaces) Of(ctx context.Context, prompt string, limit int) ([]HistoryPlace, error) {
	return p.p.Of(ctx, history.KeyOf(prompt), limit)
}

// In gives a function that says whether a prompt was ever used in a working directory; it is for HistoryQuery.Also.
func (p *HistoryPlaces) In(ctx context.Context, cwd string) (func(Prompt) bool, error) {
	keys, err := p.p.In(ctx, cwd)
	if err != nil {
		return nil, err
	}
	return func(prompt Prompt) bool { return keys[history.KeyOf(prompt.Text)] }, nil
}

// Close closes them.
func (p *HistoryPlaces) Close() error { return p.p.Close() }
