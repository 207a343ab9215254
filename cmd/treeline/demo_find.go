package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/store"
)

// The scenes in which the session is not alone: another agent has it too, and all sessions are searched.

// convert makes the session one of another agent.
// Time and chance are fixed, so the scene is the same in every demo.
func (d *demoPlay) convert(ctx context.Context) error {
	to, err := d.store.Dialect("operator")
	if err != nil {
		return err
	}
	now := time.Date(2026, 3, 2, 15, 0, 0, 0, time.UTC)
	s, report, err := d.store.Convert(ctx, d.path, store.ConvertOptions{To: to, Write: store.WriteOptions{
		Random: rand.NewChaCha8([32]byte{}), // the ids are the same in every demo
		Clock:  func() time.Time { return now },
	}})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	d.say("Another agent is to go on? It gets the session in its own format, in its own place, with both branches and the label.",
		"treeline convert "+demoName+" --to operator")
	place, err := filepath.Rel(d.dir, filepath.Dir(report.Target.File))
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "   %s → %s, in ~/%s\n", report.Source.Dialect, report.Target.Dialect, filepath.ToSlash(place))
	told := "what is lost is listed by --report"
	if report.Lossless {
		told = "converting back gives the same session"
	}
	d.note(fmt.Sprintf("%s. What %s has no words for, in %d of them, is carried along: %s.",
		counted(report.Source.Entries, "entry", "entries"), report.Target.Dialect, report.Carried, told))
	return nil
}

// find searches all sessions of the demo's home.
// The session is converted by then, so both agents' copies are searched.
func (d *demoPlay) find(ctx context.Context) error {
	d.say("Where did we talk about that? Every session of every agent is searched, branches that were left included.", "treeline search 'cent*' --in user,assistant")
	opt := store.SearchOptions{Limit: 3}
	for _, part := range []string{"user", "assistant"} {
		field, err := partField(part)
		if err != nil {
			return err
		}
		opt.Fields |= field
	}
	res, err := d.store.Search(ctx, "cent*", opt)
	if err != nil {
		return err
	}
	if len(res.Hits) == 0 {
		return errors.New("the demo's own session is not found")
	}
	out := d.out.indented()
	printHits(out, res.Hits, d.dir)
	return out.Flush()
}
