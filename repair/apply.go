// Package repair finds what is wrong with a log, and repairs what can be repaired with certainty.
//
// A repair has two steps. Plan reads a log and lists every problem together with what would be done about it; it writes
// nothing. Repair makes the same plan and applies it: records that share a line get lines of their own, bytes that are
// not records move to a log beside it, and ids and parents change only where their meaning is certain. The old log stays
// as a backup, and the new one replaces it atomically. The dialect says what the agent's own program would not find in a readable log
// (dialect.Mender).
//
// Check also lists problems that no repair solves, such as missing blobs.
package repair

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Options say what a repair does, and how it is written.
type Options struct {
	// Reattach makes the entry before an orphan in the log its parent. Otherwise orphans remain roots.
	Reattach bool
	// Force repairs a log that another program has open for writing. Otherwise this is refused with backend.ErrHeld; package backend/file
	// says on which systems this is detected.
	Force bool
	// Durability is that of the backend; "" is backend.DurabilityFlush.
	Durability backend.Durability
	// Clock and Random are the sources of times and ids; nil means those of the machine.
	Clock  func() time.Time
	Random io.Reader
}

func (o *Options) fill() {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
}

// Repairer repairs the logs of a machine.
type Repairer struct {
	m    *place.Machine
	note func(ctx context.Context, path string) error
}

// New returns a Repairer. note remembers the folder of a log as one with sessions. It is called before a backup is written: the backup
// refers to the same blobs as the log, so garbage collection must find it.
func New(m *place.Machine, note func(ctx context.Context, path string) error) *Repairer {
	return &Repairer{m, note}
}

// Plan returns what Repair would do to a log. It writes nothing.
func (r *Repairer) Plan(ctx context.Context, path string, opt Options) (*Plan, error) {
	opt.fill()
	l, err := r.m.Locate(path)
	if err != nil {
		return nil, err
	}
	plan, _, err := r.plan(ctx, l, opt)
	return plan, err
}

// Repair makes a plan and applies it. What is removed from the log is written to "<name>.torn-<time>", and the old log to
// "<name>.repair-<time>.bak".
//
// What other programs append meanwhile is kept; see Plan.Late.
func (r *Repairer) Repair(ctx context.Context, path string, opt Options) (plan *Plan, err error) {
	opt.fill()
	l, release, err := r.m.LocateWriting(path, opt.Durability, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	// One attempt is enough: Replace refuses a log that was written to after the plan.
	if err := standstill(ctx, l, opt.Clock); err != nil {
		return nil, logtree.Named(path, err)
	}
	plan, at, err := r.plan(ctx, l, opt)
	if err != nil || plan.Changes() == 0 {
		return plan, err
	}
	if err := r.note(ctx, path); err != nil {
		return nil, err
	}
	if backend.Compressed(l.Backend, l.Name) {
		if l, err = l.Expand(ctx); err != nil {
			return nil, logtree.Named(path, err)
		}
		if plan, at, err = r.plan(ctx, l, opt); err != nil {
			return nil, err
		}
	}
	return plan, logtree.Named(path, plan.apply(ctx, l, at, opt))
}

// standstill waits until the log has not been written to for two seconds. What looks torn may be a write in progress.
func standstill(ctx context.Context, l place.Location, clock func() time.Time) error {
	const still = 2 * time.Second
	for range 30 {
		at, err := l.Backend.Stat(ctx, l.Name)
		if err != nil {
			return err
		}
		wait := still - clock().Sub(at.Time)
		// It does not wait if the time is in the future.
		if wait <= 0 || wait > still {
			return nil
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
	return errors.New("another program keeps writing to it")
}

// plan reads the log and makes the plan. It also returns the log that was read: replacing it is a conflict if another process has written
// since.
func (r *Repairer) plan(ctx context.Context, l place.Location, opt Options) (*Plan, backend.Log, error) {
	log, err := r.m.OpenLog(ctx, l, nil)
	if err != nil {
		return nil, backend.Log{}, err
	}
	defer log.Close()
	w, ok := log.Dialect.(dialect.Writer)
	if !ok {
		return nil, log.At, fmt.Errorf("%s: repairing logs of %s is %w", l.Path, log.Dialect.Name(), dialect.ErrUnsupported)
	}
	if h := log.Tree.Header(); h.Newer {
		return nil, log.At, fmt.Errorf("%s: version %d was %w of the agent; it is read only", l.Path, h.Version, dialect.ErrNewer)
	}
	if log.Long != nil { // the log would lose what was not read
		return nil, log.At, logtree.Named(l.Path, log.Long)
	}
	// Reading records would omit the bytes between them.
	all, err := backend.ReadAll(ctx, l.Backend, log.At)
	if err != nil {
		return nil, log.At, logtree.Named(l.Path, err)
	}
	p := planner{d: log.Dialect, w: w, t: log.Tree, all: all, reattach: opt.Reattach, newID: freshIDs(w, log.Tree, opt.Random)}
	if err := p.ownOnly(); err != nil {
		return nil, log.At, logtree.Named(l.Path, err)
	}
	plan := &Plan{Path: l.Path}
	plan.lines, plan.aside, err = p.plan()
	plan.Repairs = p.repairs
	return plan, log.At, logtree.Named(l.Path, err)
}

// freshIDs returns a function that returns new ids, which no entry has.
func freshIDs(w dialect.Writer, t *session.Tree, random io.Reader) func() (session.EntryID, error) {
	given := map[session.EntryID]bool{}
	return func() (session.EntryID, error) {
		for range 100 {
			id, err := w.NewEntryID(random)
			if err != nil {
				return "", err
			}
			if _, taken := t.Lookup(id); !taken && !given[id] {
				given[id] = true
				return id, nil
			}
		}
		return "", errors.New("no free entry id found in 100 tries")
	}
}

// apply writes the backup and what is removed, then the new log. If the log was written to since the plan, nothing changes. After an error
// the backup stays, unless the log is certainly unchanged.
func (p *Plan) apply(ctx context.Context, l place.Location, at backend.Log, opt Options) error {
	b, now := l.Backend, opt.Clock()
	abs, err := place.Abs(l.Path)
	if err != nil {
		return err
	}
	all, err := backend.ReadAll(ctx, b, at)
	if err != nil {
		return err
	}
	stamp := now.UTC().Format("20060102T150405.000Z")
	backup, err := createFree(ctx, b, all, func(try int) string {
		if try > 0 {
			return fmt.Sprintf("%s.repair-%s.bak-%d", at.Name, stamp, try+1)
		}
		return fmt.Sprintf("%s.repair-%s.bak", at.Name, stamp)
	})
	if err != nil {
		return err
	}
	made := []backend.Log{backup}
	if len(p.aside) > 0 {
		var aside backend.Log
		if aside, err = createFree(ctx, b, p.aside, func(try int) string { return backend.TornName(at.Name, now, try) }); err == nil {
			made = append(made, aside)
		}
	}
	if err == nil {
		_, p.Late, err = backend.Replace(ctx, b, at, backend.RewriteOptions{Force: opt.Force}, p.lines...)
	}
	if err != nil && untouched(ctx, b, at, err) {
		for _, log := range made {
			err = errors.Join(err, b.Remove(context.WithoutCancel(ctx), log))
		}
		return err
	}
	// The names differ from the name of the log only at the end.
	p.Backup = abs + backup.Name[len(at.Name):]
	if len(made) > 1 {
		p.Aside = abs + made[1].Name[len(at.Name):]
	}
	return err
}

// untouched reports whether a log is still the one that a failed Replace was given. An error can also come after the replacement: then the
// backup is the only copy of the old log.
func untouched(ctx context.Context, b backend.Backend, at backend.Log, failed error) bool {
	now, err := b.Stat(context.WithoutCancel(ctx), at.Name)
	return errors.Is(failed, backend.ErrConflict) || err == nil && now.Generation == at.Generation
}

// createFree creates a log with the first name that is not taken.
func createFree(ctx context.Context, b backend.Backend, content []byte, name func(try int) string) (backend.Log, error) {
	for try := 0; ; try++ {
		at, err := b.Create(ctx, name(try), content)
		if !errors.Is(err, backend.ErrExist) || try == 1000 {
			return at, err
		}
	}
}
