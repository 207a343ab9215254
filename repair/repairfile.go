package repair

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// PlanRepair says what Repair would do to the log in a file. Nothing is written.
func (s *Store) PlanRepair(ctx context.Context, path string, opt RepairOptions) (*RepairPlan, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	b, err := s.opt.OpenDir(filepath.Dir(abs))
	if err != nil {
		return nil, err
	}
	defer b.Close()
	w := WriteOptions{}
	w.fill()
	plan, _, err := s.planRepair(ctx, b, abs, path, opt, w)
	return plan, err
}

// Repair mends the log in a file: records that share a line get lines of their own, what is no record goes to
// "<name>.torn-<time>", and ids and parents are put right where it is certain what they mean; see RepairPlan. The log is
// replaced atomically, and stays as it was as "<name>.repair-<time>.bak".
//
// A program that has the file open and takes no lock goes on writing to the old one: close it first.
func (s *Store) Repair(ctx context.Context, path string, opt RepairOptions, w WriteOptions) (*RepairPlan, error) {
	w.fill()
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	b, err := s.writeDir(filepath.Dir(abs), path, w)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	// Before the plan, and not again: what is written after it is a conflict for Replace.
	if err := standstill(ctx, b, filepath.Base(abs), w.Clock); err != nil {
		return nil, named(path, err)
	}
	plan, at, err := s.planRepair(ctx, b, abs, path, opt, w)
	if err != nil || plan.Changes() == 0 {
		return plan, err
	}
	// The backup refers to blobs as the log does.
	if err := s.noteFolder(ctx, abs); err != nil {
		return nil, err
	}
	return plan, named(path, plan.apply(ctx, b, at, abs, w.Clock()))
}

// standstill waits until nobody has written for two seconds: what looks torn may be a writer at work.
func standstill(ctx context.Context, b backend.Backend, name string, clock func() time.Time) error {
	const still = 2 * time.Second
	for range 30 {
		at, err := b.Stat(ctx, name)
		if err != nil {
			return err
		}
		wait := still - clock().Sub(at.Time)
		// A time in the future tells nothing: it is not waited for.
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
	return errors.New("another program is writing to it all the time")
}

// planRepair reads the log and makes the plan. The log that it gives back is the one to be replaced: who wrote since then
// makes that a conflict.
func (s *Store) planRepair(ctx context.Context, b backend.Backend, abs, path string, opt RepairOptions, w WriteOptions) (*RepairPlan, backend.Log, error) {
	sess, err := s.OpenLog(ctx, b, filepath.Base(abs), path, OpenOptions{})
	if err != nil {
		return nil, backend.Log{}, err
	}
	defer sess.Close()
	d, err := s.writer(sess.dialect)
	if err != nil {
		return nil, sess.log, err
	}
	if h := sess.tree.Header(); h.Newer {
		return nil, sess.log, fmt.Errorf("%s: version %d is %w of the agent; it is read only", path, h.Version, ErrNewer)
	}
	// The bytes as they are: records would come without what stands between them.
	all, err := readAll(ctx, b, sess.log)
	if err != nil {
		return nil, sess.log, named(path, err)
	}
	// Tree and bytes are of the same log: both were read with sess.log.
	p := planner{d: d, t: sess.tree, all: all, opt: opt, newID: freshIDs(d, sess.tree, w)}
	plan := &RepairPlan{Path: path}
	plan.lines, plan.aside, err = p.plan()
	plan.Repairs = p.repairs
	return plan, sess.log, named(path, err)
}

// freshIDs gives ids that no entry has. It remembers what it gave: none of them is in the tree yet.
func freshIDs(d dialect.Writer, t *session.Tree, w WriteOptions) func() (session.EntryID, error) {
	given := map[session.EntryID]bool{}
	return func() (session.EntryID, error) {
		for range 100 {
			id, err := d.NewEntryID(w.Random)
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

// apply writes: first what is kept of the old log, then the new one. Where somebody wrote meanwhile nothing changes.
func (p *RepairPlan) apply(ctx context.Context, b backend.Backend, at backend.Log, abs string, now time.Time) error {
	// Read again with at: it fails where the log is not the one that was planned for.
	all, err := readAll(ctx, b, at)
	if err != nil {
		return err
	}
	// The time in the name is to the millisecond; two repairs within one still get names of their own.
	backup, err := createFree(ctx, b, func(try int) string { return numbered(at.Name+".repair-"+stamp(now)+".bak", try) }, all)
	if err != nil {
		return err
	}
	made := []backend.Log{backup}
	if len(p.aside) > 0 {
		var aside backend.Log
		if aside, err = createFree(ctx, b, func(try int) string { return backend.TornName(at.Name, now, try) }, p.aside); err == nil {
			made = append(made, aside)
			p.Aside = filepath.Join(filepath.Dir(abs), aside.Name)
		}
	}
	if err == nil {
		_, err = b.Replace(ctx, at, p.lines...)
	}
	if err != nil {
		// Nothing was replaced, so neither copy says anything that the log does not.
		for _, log := range made {
			err = errors.Join(err, b.Remove(ctx, log))
		}
		p.Aside = ""
		return err
	}
	p.Backup = filepath.Join(filepath.Dir(abs), backup.Name)
	return nil
}

// createFree makes a log under the first name that is free.
func createFree(ctx context.Context, b backend.Backend, name func(try int) string, content []byte) (backend.Log, error) {
	for try := 0; ; try++ {
		at, err := b.Create(ctx, name(try), content)
		if !errors.Is(err, backend.ErrExist) || try == 1000 {
			return at, err
		}
	}
}

func numbered(name string, try int) string {
	if try == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, try+1)
}
