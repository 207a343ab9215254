package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/session"
)

// author writes a session with this library, step by step, in the home of an agent. Between steps the agent itself may
// resume the session and answer.
type author struct {
	*desk
	rnd   *rand.Rand
	store *treeline.Store
	s     *treeline.Session
	said  int
}

// written is the scene of a session that this library and the agent write by turns.
func written(seed uint64) scene {
	return scene{name: fmt.Sprintf("written-%d", seed), must: true, lay: func(ctx context.Context, d *desk) (string, error) {
		return d.write(ctx, rand.New(rand.NewPCG(seed, 30)))
	}}
}

func (d *desk) write(ctx context.Context, rnd *rand.Rand) (path string, err error) {
	store, err := d.store()
	if err != nil {
		return "", err
	}
	defer store.Close()
	a := &author{desk: d, rnd: rnd, store: store}
	if a.s, err = store.Create(ctx, treeline.CreateOptions{Dialect: d.dialect, CWD: d.workDir}); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, a.s.Close()) }()
	if err := a.turn(ctx); err != nil {
		return "", err
	}
	for range 2 + rnd.IntN(8) {
		// Codex goes back by whole turns only, and has no labels.
		if err := a.step(ctx); err != nil && !errors.Is(err, dialect.ErrUnsupported) {
			return "", err
		}
	}
	return a.s.Path(), a.s.Flush(ctx)
}

// step makes one random change.
func (a *author) step(ctx context.Context) error {
	switch a.rnd.IntN(10) {
	case 0, 1:
		return a.branch(ctx, false)
	case 2:
		return a.branch(ctx, true)
	case 3:
		_, err := a.s.Compact(ctx, session.Compaction{Summary: a.text("summary"), TokensBefore: 99, ReplacesAll: true})
		return err
	case 4:
		return a.s.Rename(ctx, a.text("title"))
	case 5:
		_, err := a.s.Label(ctx, a.s.Leaf(), "here")
		return err
	case 6, 7:
		return a.answered(ctx)
	}
	return a.turn(ctx)
}

// text is a text that no other step has.
func (a *author) text(kind string) string {
	a.said++
	return fmt.Sprintf("%s %d of this library", kind, a.said)
}

// turn appends a prompt, perhaps calls and their results, and an answer.
func (a *author) turn(ctx context.Context) error {
	if _, err := a.s.AppendUser(ctx, a.text("prompt")); err != nil {
		return err
	}
	by := treeline.Answer{Provider: "anthropic", Model: "claude-opus-4-6"}
	if a.rnd.IntN(2) == 0 {
		parts := []session.Part{session.Text{Text: a.text("plan")}}
		var calls []string
		for range 1 + a.rnd.IntN(2) {
			a.said++
			calls = append(calls, fmt.Sprintf("toolu_%d", a.said))
			parts = append(parts, session.ToolCall{ID: calls[len(calls)-1], Name: "Bash", Arguments: []byte(`{"command":"ls"}`)})
		}
		if _, err := a.s.AppendAssistant(ctx, parts, by); err != nil {
			return err
		}
		for _, c := range calls {
			if _, err := a.s.AppendToolResult(ctx, c, []session.Part{session.Text{Text: a.text("result")}}, a.rnd.IntN(4) == 0); err != nil {
				return err
			}
		}
	}
	_, err := a.s.AppendAssistant(ctx, []session.Part{session.Text{Text: a.text("answer")}}, by)
	return err
}

// branch goes back to an entry and, unless only the leaf moves, goes on from there.
func (a *author) branch(ctx context.Context, move bool) error {
	var prompts []session.EntryID
	for e := range a.s.Tree().Entries() {
		if e.Kind == session.KindMessage && e.Role == session.RoleAssistant {
			prompts = append(prompts, e.ID)
		}
	}
	if len(prompts) == 0 {
		return nil
	}
	to := prompts[a.rnd.IntN(len(prompts))]
	if _, err := a.s.Branch(ctx, to, treeline.BranchOptions{Durable: move}); err != nil || move {
		return err
	}
	return a.turn(ctx)
}

// answered lets the agent resume the session, and opens it again.
func (a *author) answered(ctx context.Context) error {
	path := a.s.Path()
	if err := errors.Join(a.s.Flush(ctx), a.s.Close()); err != nil {
		return err
	}
	got, err := a.ask(ctx, path)
	if err == nil && got.body == nil {
		err = fmt.Errorf("%s refused the session that this library wrote: %s", a.program.name, got.said)
	}
	if err != nil {
		return err
	}
	s, err := a.store.OpenWrite(ctx, path, treeline.CreateOptions{Dialect: a.dialect})
	if err == nil {
		a.s = s
	}
	return err
}

// converted are the scenes of sessions of every other family that this library converted.
func (a agent) converted(seed uint64) (list []scene) {
	log := gen.Session(gen.Options{Seed: seed, Entries: 40, CompactEvery: 25, Branches: 1})
	for _, from := range []struct {
		dialect dialect.Dialect
		log     []byte
	}{
		{pi.Pi, log}, {wave.Wave, gen.Wave(log)}, {codelia.Codelia, gen.Run(log)}, {codelia.State, gen.State(log)}, {operator.Operator, gen.Operator(log)},
		{claude.Claude, gen.Claude(log)}, {codex.Codex, gen.Codex(log)},
	} {
		if from.dialect == a.dialect {
			continue
		}
		list = append(list, scene{name: fmt.Sprintf("from-%s-%d", from.dialect.Name(), seed), must: true, lay: func(ctx context.Context, d *desk) (string, error) {
			return d.convert(ctx, from.dialect, from.log)
		}})
	}
	return list
}

// convert converts a log into the agent's place.
func (d *desk) convert(ctx context.Context, from dialect.Dialect, log []byte) (path string, err error) {
	store, err := d.store()
	if err != nil {
		return "", err
	}
	defer store.Close()
	source := filepath.Join(d.home, "source", "019cab00-0000-7000-8000-00000000000a.jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(source), 0o700), os.WriteFile(source, log, 0o600)); err != nil {
		return "", err
	}
	src, err := store.Open(ctx, source, treeline.OpenOptions{Dialect: from})
	if err != nil {
		return "", err
	}
	defer src.Close()
	dst, _, err := store.ConvertSession(ctx, src, convert.Options{To: d.dialect, Fresh: true, Write: treeline.WriteOptions{Force: true}})
	if err != nil {
		return "", err
	}
	return dst.Path(), dst.Close()
}
