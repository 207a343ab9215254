package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// convert converts the session to the format of another agent. The clock and the random source are fixed.
func (d *demoPlay) convert(ctx context.Context) error {
	to, err := d.store.Dialect("operator")
	if err != nil {
		return err
	}
	now := time.Date(2026, 3, 2, 15, 0, 0, 0, time.UTC)
	s, report, err := d.store.Convert(ctx, d.path, convert.Options{To: to, Write: store.WriteOptions{
		Random: rand.NewChaCha8([32]byte{}),
		Clock:  func() time.Time { return now },
	}})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	d.say("To continue with another agent, convert the session to its format. Both branches and the label are kept.",
		"treeline convert "+demoName+" --to operator")
	place, err := filepath.Rel(d.dir, filepath.Dir(report.Target.File))
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "   %s → %s, in ~/%s\n", report.Source.Dialect, report.Target.Dialect, filepath.ToSlash(place))
	told := "--report lists what is lost"
	if report.Lossless {
		told = "converting back gives the same session"
	}
	d.note(fmt.Sprintf("%s. What %s cannot express, in %d of them, is carried along: %s.",
		wire.Count(report.Source.Entries, "entry", "entries"), report.Target.Dialect, report.Carried, told))
	return nil
}

// find searches both copies of the session.
func (d *demoPlay) find(ctx context.Context) error {
	d.say("Search every session of every agent, including abandoned branches.", "treeline search 'cent*' --in user,assistant")
	opt := find.Options{Limit: 3}
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
