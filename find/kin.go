package find

import (
	"cmp"
	"context"
	"time"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// KinOptions say which relatives of sessions are wanted, in addition to sessions with the same id and the parents.
type KinOptions struct {
	// Ancestors: all ancestors, however many.
	Ancestors bool
	// Below: forks and sub-agents, and the sub-agents of these.
	Below bool
	// Repeats: sessions that have the same messages; see package usage. These are the sessions from which the given ones were converted
	// and, if a parent or such a session is gone, the other sessions that came from it.
	Repeats bool
}

const (
	// roundsMost is how often, and kinMost for how many sessions, sub-agents are looked for.
	roundsMost = 32
	kinMost    = 5000
)

// Kin returns the given sessions and those that they depend on. In an archive it costs no more than these.
func (f *Finder) Kin(ctx context.Context, rows []place.Row, opt KinOptions) ([]place.Row, error) {
	if !f.beside() {
		return f.Catalogue(ctx, RefreshOptions{})
	}
	k := kin{opt: opt, known: map[string]bool{}, asked: map[string]bool{}}
	for round, fresh := 0, rows; len(fresh) > 0 || round == 1; round++ {
		var next []place.Row
		for i := range fresh {
			if !k.known[fresh[i].Path] {
				k.known[fresh[i].Path] = true
				k.rows, next = append(k.rows, fresh[i]), append(next, fresh[i])
			}
		}
		if round == 0 {
			k.of = len(k.rows)
		}
		keys, any := k.keys(next, round)
		if !any && round > 0 {
			break
		}
		var err error
		if fresh, err = f.sharedLookUp(ctx, keys); err != nil {
			return nil, err
		}
	}
	return k.rows, nil
}

// kin collects the sessions that some sessions depend on.
type kin struct {
	opt   KinOptions
	of    int // number of rows at the beginning that the caller passed
	rows  []place.Row
	known map[string]bool // paths of the rows
	asked map[string]bool // keys that were looked up
}

// ask reports whether a key is still to be looked up.
func (k *kin) ask(kind, key string) bool {
	if key == "" || k.asked[kind+key] {
		return false
	}
	k.asked[kind+key] = true
	return true
}

// keys returns the keys of the sessions that rows depend on. any is false if all of them were looked up before.
func (k *kin) keys(rows []place.Row, round int) (keys Keys, any bool) {
	far := round >= roundsMost || len(k.rows) > k.of+kinMost
	for i := range rows {
		r := &rows[i]
		if k.ask("twin ", string(r.ID)) {
			keys.Twins = append(keys.Twins, r.ID)
		}
		if round == 0 || k.opt.Ancestors {
			if k.ask("id ", r.Parent) {
				keys.IDs = append(keys.IDs, session.ID(r.Parent))
			}
			if file := index.LastPart(r.Parent); file != r.Parent && k.ask("file ", file) {
				keys.Files = append(keys.Files, file)
			}
		}
		if k.opt.Below && !far && (round == 0 || r.IsTask()) {
			for _, name := range []string{string(r.ID), index.LastPart(r.Path)} {
				if k.ask("below ", name) {
					keys.Parents = append(keys.Parents, name)
				}
			}
		}
		if k.opt.Repeats && round == 0 && r.Known != nil && k.ask("id ", string(r.Known.Origin)) {
			keys.IDs = append(keys.IDs, r.Known.Origin)
		}
	}
	if k.opt.Repeats && round == 1 {
		k.orphans(&keys)
	}
	any = len(keys.Twins)+len(keys.IDs)+len(keys.Files)+len(keys.Parents)+len(keys.Origins) > 0
	return keys, any
}

// orphans adds the keys of sessions that came from the same session, if that is gone.
func (k *kin) orphans(keys *Keys) {
	ids := make(map[session.ID]bool, len(k.rows))
	for i := range k.rows {
		ids[k.rows[i].ID] = true
	}
	for i, parent := range place.Parents(k.rows)[:k.of] {
		r := &k.rows[i]
		if name := index.LastPart(r.Parent); parent < 0 && k.ask("below ", name) {
			keys.Parents = append(keys.Parents, name)
		}
		if r.Known != nil && !ids[r.Known.Origin] && k.ask("origin ", string(r.Known.Origin)) {
			keys.Origins = append(keys.Origins, r.Known.Origin)
		}
	}
}

// EachOptions say which sessions Each passes to take.
type EachOptions struct {
	RefreshOptions
	Filter place.Filter
	Kin    KinOptions
	// Since: sessions in which nothing happened since then may be left out.
	Since time.Time
	// Step is the number of sessions per call of take; 0 means 1000.
	Step int
}

// Each brings the catalogue up to date and calls take with the sessions that pass a filter, some at a time and newest first. all are these
// sessions and those that Kin adds. Rows with an Err are left out. In an archive only one such step is in memory at a time; elsewhere take
// is called once.
func (f *Finder) Each(ctx context.Context, opt EachOptions, take func(rows, all []place.Row) error) error {
	if beside, err := f.fresh(ctx, opt.RefreshOptions); err != nil {
		return err
	} else if beside {
		return f.eachFamily(ctx, opt, take)
	}
	all, err := f.Catalogue(ctx, opt.RefreshOptions)
	if err != nil {
		return err
	}
	all = place.Drop(all, func(r *place.Row) bool { return r.Err != nil })
	rows, err := f.m.Filter(append([]place.Row{}, all...), opt.Filter)
	if err != nil {
		return err
	}
	return take(rows, all)
}

// eachFamily is Each on a shared index.
func (f *Finder) eachFamily(ctx context.Context, opt EachOptions, take func(rows, all []place.Row) error) error {
	sel, _, err := f.selection(ctx, opt.Filter)
	if err != nil {
		return err
	}
	step := cmp.Or(opt.Step, pageSize)
	sel.Sessions, sel.Order, sel.Limit = true, index.OrderWhen, step
	if !opt.Since.IsZero() {
		sel.Latest = nanos(opt.Since)
	}
	var rows []place.Row
	flush := func() error {
		all, err := f.Kin(ctx, rows, opt.Kin)
		if err == nil {
			err = take(rows, all)
		}
		rows = nil
		return err
	}
	var failed error
	err = f.eachShared(ctx, sel, opt.Filter, func(_ *index.Found, r *place.Row) bool {
		if r.Err == nil {
			rows = append(rows, *r)
		}
		if len(rows) >= step {
			failed = flush()
		}
		return failed == nil
	})
	if err == nil && failed == nil && len(rows) > 0 {
		failed = flush()
	}
	if err == nil {
		err = failed
	}
	return err
}
