package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// Report counts what an import did.
type Report struct {
	// Sessions is how many were read; Unchanged were not, because they did not change since the last import; Failed are the paths of those
	// that could not be read.
	Sessions, Unchanged int
	Failed              []string
	// Histories is how many files in which agents keep prompts were read, because they changed since the last import.
	Histories int
	// Prompts is how many were found; TooLong of them were left out. Added were new to the history; Renewed were in it and have been used
	// since.
	Prompts, TooLong, Added, Renewed int
	// Aside is where a damaged history was moved to, Saved how many prompts could be read from it.
	Aside string
	Saved int
}

// Limits of one transaction of an import: a process that is killed loses no more.
const (
	batchSessions = 1000
	batchBytes    = 32 << 20
)

// longestPrompt is the limit of a prompt; anything longer was pasted.
const longestPrompt = 1 << 20

// Import adds what was typed in opt.Sessions: in all of them for our own history, in those of the agent for an agent's. Our
// own also gets what agents keep in files of their own: prompts of sessions that are gone, and commands. A prompt is kept once, with the time of its last use; Places has all its uses. A session that did not change since the last
// import is not read again. When ctx is cancelled, what was read so far is kept, and the next import continues there.
func Import(ctx context.Context, opt Options) (Report, error) {
	f, err := opt.files()
	if err != nil {
		return Report{}, err
	}
	report, err := importSessions(ctx, opt, f)
	if f.own && errors.Is(err, ErrDamaged) {
		return rebuild(ctx, opt, f, false) // which imports
	}
	return report, err
}

func importSessions(ctx context.Context, opt Options, f files) (Report, error) {
	i := importing{opt: opt, files: f}
	if opt.Sessions == nil {
		return i.report, errNoSessions
	}
	var err error
	if i.history, err = openDB(ctx, f.db, dbOptions{Guest: !f.own}); err != nil {
		return i.report, err
	}
	if i.places, err = i.openPlaces(ctx); err == nil {
		err = i.run(ctx)
		err = errors.Join(err, i.places.Close())
	}
	return i.report, errors.Join(err, i.history.Close())
}

var errNoSessions = errors.New("history: Sessions is not set")

// importing is an import in progress.
type importing struct {
	opt     Options
	files   files
	history *History // nil: only places are collected
	places  *Places
	report  Report

	// The prompts and uses that were read and not yet written.
	prompts []Prompt
	uses    []sessionUses
	bytes   int
}

// openPlaces opens the cache of places. For an agent's history, and if the cache cannot be written, it is in memory: then all
// sessions are read each time.
func (i *importing) openPlaces(ctx context.Context) (*Places, error) {
	if i.files.own {
		p, err := i.placesAt(ctx, i.files.places)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrDamaged) {
			return p, err
		}
		i.opt.notice("where prompts were used cannot be saved: %v", err)
	}
	return i.placesAt(ctx, "")
}

func (i *importing) placesAt(ctx context.Context, path string) (*Places, error) {
	p, err := openPlaces(ctx, path, dbOptions{})
	if err != nil {
		return nil, err
	}
	if p.anew != "" {
		i.opt.notice("where prompts were used is collected again: %s", p.anew)
	}
	if err := i.bind(ctx, p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// bind records which history the places belong to, in its present state.
func (i *importing) bind(ctx context.Context, p *Places) error {
	if i.history == nil {
		return nil
	}
	info, err := durable.OS{}.Stat(i.files.db)
	if err != nil {
		return err
	}
	last, err := i.history.last(ctx)
	if err != nil {
		return err
	}
	return p.bind(ctx, fmt.Sprintf("%s %d %d", i.files.db, info.Dev, info.Ino), last)
}

func (i *importing) run(ctx context.Context) error {
	known, err := i.places.stamps(ctx)
	if err != nil {
		return err
	}
	rows, err := i.opt.Sessions.List(ctx, place.ListOptions{Problem: i.opt.problem})
	if err != nil {
		return err
	}
	if !i.files.own {
		agent := filepath.Dir(i.files.db)
		rows = slices.DeleteFunc(rows, func(r place.Row) bool { return filepath.Dir(r.Source.Root.Sessions) != agent })
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
		} else {
			i.read(ctx, r, s)
		}
		if i.opt.Progress != nil {
			i.opt.Progress(n+1, len(rows))
		}
		if i.history != nil && (len(i.uses) >= batchSessions || i.bytes >= batchBytes) {
			if err := i.write(ctx); err != nil {
				return err
			}
		}
	}
	if i.files.own && i.history != nil {
		i.readHistories(ctx, known, there, rows)
	}
	if i.history == nil && ctx.Err() != nil {
		return context.Cause(ctx) // an incomplete collection would pass for a complete one
	}
	if err := i.write(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return i.places.put(ctx, nil, gone(known, there))
}

// gone returns the known sessions that no longer exist.
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

func stampOf(r *place.Row) string {
	return fmt.Sprintf("%s %d %d %d", r.Log.Generation, r.Log.Size, r.Log.Time.UnixNano(), r.Log.Changed)
}

// read collects the prompts of one session. A session that cannot be read is counted, and the import goes on.
func (i *importing) read(ctx context.Context, r *place.Row, stamp string) {
	s, err := i.opt.Sessions.Open(ctx, r.Path, store.OpenOptions{})
	if err != nil {
		if ctx.Err() == nil {
			i.report.Failed = append(i.report.Failed, r.Path)
		}
		return
	}
	defer s.Close()
	u := sessionUses{Path: r.Path, Stamp: stamp, Dialect: s.Dialect().Name(), Session: cmp.Or(s.ID(), r.ID), CWD: cmp.Or(s.Header().CWD, r.CWD)}
	var prompts []Prompt
	for p, err := range s.Prompts(ctx) {
		switch {
		case ctx.Err() != nil:
			return // an incomplete session is not kept
		case err != nil:
			continue // an unreadable line
		}
		i.report.Prompts++
		if len(p.Text) > longestPrompt {
			i.report.TooLong++
			continue
		}
		i.bytes += len(p.Text)
		prompts = append(prompts, Prompt{Text: p.Text, CWD: u.CWD, At: p.At})
		u.List = append(u.List, use{Key: keyOf(p.Text), Entry: p.Entry, At: p.At})
	}
	i.report.Sessions++
	if i.history == nil {
		u.Stamp, prompts = "", nil // the next import still has to add these prompts
	}
	i.prompts, i.uses = append(i.prompts, prompts...), append(i.uses, u)
}

// write stores what was read, even if ctx is cancelled. The prompts come first: after a crash in between the sessions are read
// again, which adds nothing.
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
	return i.places.put(ctx, uses, nil)
}

// promptKey is a hash of the text of a prompt.
type promptKey [16]byte

func keyOf(prompt string) promptKey {
	sum := sha256.Sum256([]byte(normal(prompt)))
	return promptKey(sum[:16])
}

// Imported counts the changes of History.Import.
type Imported struct {
	// Added were not in the history; Renewed were, and got a later time.
	Added, Renewed int
}

// Import adds the prompts that the history does not have, in the order of their times, in one transaction. Each is kept
// once, with the time and directory of its last use, so importing again changes nothing.
func (h *History) Import(ctx context.Context, prompts []Prompt) (Imported, error) {
	if h.queue == nil {
		return Imported{}, ErrReadOnly
	}
	list := lastUses(prompts)
	var done Imported
	err := h.db.Transact(ctx, func(tx *sql.Tx) error {
		known, err := rowsByKey(ctx, tx)
		if err != nil {
			return err
		}
		for _, p := range list {
			// list has each key once, so known need not be updated.
			row, ok := known[keyOf(p.Text)]
			switch {
			case !ok:
				done.Added++
				err = insert(ctx, tx, p)
			case row.at < p.At.Unix():
				done.Renewed++
				// The text stays, so the text index need not change.
				_, err = tx.ExecContext(ctx, `UPDATE history SET created_at = ?, cwd = ifnull(?, cwd) WHERE id = ?`, p.At.Unix(), nullable(p.CWD), row.id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		done = Imported{}
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
	}
	return done, h.explain(err)
}

// lastUses returns each prompt once, with its last use, sorted by time.
func lastUses(prompts []Prompt) []Prompt {
	list := make([]Prompt, 0, len(prompts))
	for _, p := range prompts {
		if p.Text = normal(p.Text); p.Text != "" {
			list = append(list, p)
		}
	}
	// In whole seconds, as in the table; within a second the given order counts.
	sorting.By(list, func(a, b Prompt) int { return a.At.Truncate(time.Second).Compare(b.At.Truncate(time.Second)) })
	seen := make(map[promptKey]bool, len(list))
	kept := len(list) // list[kept:] is the result
	for i := len(list) - 1; i >= 0; i-- {
		if k := keyOf(list[i].Text); !seen[k] {
			seen[k] = true
			kept--
			list[kept] = list[i]
		}
	}
	return list[kept:]
}

type rowTime struct{ id, at int64 }

// rowsByKey returns the newest row of each prompt. The table has no index over texts. It is read in the transaction that
// adds, so that two processes do not add the same prompt.
func rowsByKey(ctx context.Context, tx *sql.Tx) (map[promptKey]rowTime, error) {
	known := map[promptKey]rowTime{}
	err := each(ctx, tx, func(rows *sql.Rows) error {
		p, err := scan(rows)
		k, at := keyOf(p.Text), p.At.Unix()
		if old, ok := known[k]; !ok || at >= old.at {
			known[k] = rowTime{p.ID, at}
		}
		return err
	}, `SELECT `+columns+` FROM history h`)
	return known, err
}
