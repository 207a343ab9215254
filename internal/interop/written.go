package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/difftest"
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

// written returns the scene of a session that this library begins, and to which the agent and this library append by turns.
func written(seed uint64) scene {
	return scene{name: fmt.Sprintf("written-%d", seed), must: true, lay: func(ctx context.Context, d *desk) (treeline.ResumeCommand, error) {
		return d.write(ctx, rand.New(rand.NewPCG(seed, 30)), (*author).create, (*author).resumed)
	}}
}

// begun returns the scene of a session that the agent begins, and this library continues.
func begun(seed uint64) scene {
	return scene{name: fmt.Sprintf("begun-%d", seed), must: true, lay: func(ctx context.Context, d *desk) (treeline.ResumeCommand, error) {
		return d.write(ctx, rand.New(rand.NewPCG(seed, 31)), (*author).adopt, (*author).resumed)
	}}
}

// abandoned returns the scene of a session that is resumed at the end of an abandoned branch.
func abandoned(seed uint64) scene {
	return scene{name: fmt.Sprintf("abandoned-%d", seed), must: true, lay: func(ctx context.Context, d *desk) (treeline.ResumeCommand, error) {
		return d.write(ctx, rand.New(rand.NewPCG(seed, 32)), (*author).create, (*author).resumedAtTip)
	}}
}

// write writes a session in random steps between a beginning and an end.
func (d *desk) write(ctx context.Context, rnd *rand.Rand, begin func(*author, context.Context) error, end func(*author, context.Context) (treeline.ResumeCommand, error)) (c treeline.ResumeCommand, err error) {
	store, err := d.store()
	if err != nil {
		return c, err
	}
	defer store.Close()
	a := &author{desk: d, rnd: rnd, store: store}
	if err := begin(a, ctx); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, a.s.Close()) }()
	if err := a.turn(ctx); err != nil {
		return c, err
	}
	for range 2 + rnd.IntN(8) {
		// Codex goes back by whole turns only, and has no labels.
		if err := a.step(ctx); err != nil && !errors.Is(err, dialect.ErrUnsupported) {
			return c, err
		}
	}
	return end(a, ctx)
}

// create begins a session with this library.
func (a *author) create(ctx context.Context) (err error) {
	a.s, err = a.store.Create(ctx, treeline.CreateOptions{Dialect: a.dialect, CWD: a.workDir})
	return err
}

// adopt makes the agent begin a session.
func (a *author) adopt(ctx context.Context) error {
	said, err := a.run(ctx, a.workDir, nil, a.begin("FIRST PROMPT"))
	if err != nil {
		return err
	}
	var path string
	err = filepath.WalkDir(filepath.Join(a.home, filepath.FromSlash(a.traces[0])), func(p string, _ fs.DirEntry, err error) error {
		if filepath.Ext(p) == ".jsonl" {
			path = p
		}
		return err
	})
	if err != nil || path == "" {
		return errors.Join(err, fmt.Errorf("%s began no session: %s", a.program.name, said))
	}
	a.s, err = a.store.OpenWrite(ctx, path, treeline.CreateOptions{Dialect: a.dialect})
	return err
}

// resumed resumes the session as it is. If the last step went back to the beginning, there may be nothing to resume: then one more turn is
// written.
func (a *author) resumed(ctx context.Context) (c treeline.ResumeCommand, err error) {
	for range 2 {
		if err := a.s.Flush(ctx); err != nil {
			return c, err
		}
		if c, err = a.command(ctx, a.store, a.s.Path(), treeline.ResumeOptions{}); !errors.Is(err, dialect.ErrUnsupported) {
			return c, err
		}
		if err := a.turn(ctx); err != nil {
			return c, err
		}
	}
	return c, err
}

// resumedAtTip resumes the session at the end of an abandoned branch. The conversation there must be unchanged.
func (a *author) resumedAtTip(ctx context.Context) (c treeline.ResumeCommand, err error) {
	tips := a.tips()
	for tries := 0; len(tips) == 0 && tries < 5; tries++ {
		if err := errors.Join(a.turn(ctx), a.branch(ctx, false)); err != nil && !errors.Is(err, dialect.ErrUnsupported) {
			return c, err
		}
		tips = a.tips()
	}
	if len(tips) == 0 {
		return c, fmt.Errorf("no branch was left in %d entries, leaf %s", a.s.Tree().Len(), a.s.Leaf())
	}
	tip := tips[a.rnd.IntN(len(tips))]
	if err := a.s.Flush(ctx); err != nil {
		return c, err
	}
	want, err := a.expectAt(ctx, a.s, tip)
	if err != nil {
		return c, err
	}
	if c, err = a.command(ctx, a.store, a.s.Path(), treeline.ResumeOptions{Leaf: &tip}); err != nil {
		return c, err
	}
	got, _, err := a.expect(ctx, c.Path)
	if diff := difftest.Diff(want, got); err == nil && diff != "" {
		err = fmt.Errorf("resuming at %s changes what this library says (-before +after):\n%s", tip, diff)
	}
	return c, err
}

// tips returns the last answers of abandoned branches.
func (a *author) tips() (list []session.EntryID) {
	t := a.s.Tree()
	active := t.OnActivePath()
	for i := range t.Len() {
		e := t.At(i)
		last := !slices.ContainsFunc(t.Children(e.ID), func(c session.Entry) bool { return c.Kind == session.KindMessage })
		if e.Kind == session.KindMessage && e.Role == session.RoleAssistant && !active[i] && last {
			list = append(list, e.ID)
		}
	}
	return list
}

// step makes one random change.
func (a *author) step(ctx context.Context) error {
	switch a.rnd.IntN(12) {
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
	case 8:
		return a.s.Fork(ctx)
	case 9:
		if answers := a.answers(); len(answers) > 0 {
			return a.s.BranchedSession(ctx, answers[a.rnd.IntN(len(answers))])
		}
	}
	return a.turn(ctx)
}

// text returns a text that no other step has.
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
		results := make([]session.ToolResult, len(calls))
		for i, c := range calls {
			results[i] = session.ToolResult{CallID: c, Name: "Bash", Parts: []session.Part{session.Text{Text: a.text("result")}}, IsError: a.rnd.IntN(4) == 0}
		}
		composer, ok := dialect.AsComposer(a.dialect)
		together := ok && composer.Habits().ResultsInCalls // OpenCode has results in the message with the calls
		if together {
			for _, r := range results {
				parts = append(parts, r)
			}
		}
		if _, err := a.s.AppendAssistant(ctx, parts, by); err != nil {
			return err
		}
		for _, r := range results {
			if together {
				break
			}
			if _, err := a.s.AppendToolResult(ctx, r.CallID, r.Parts, r.IsError); err != nil {
				return err
			}
		}
	}
	_, err := a.s.AppendAssistant(ctx, []session.Part{session.Text{Text: a.text("answer")}}, by)
	return err
}

// answers returns the entries with an answer.
func (a *author) answers() (list []session.EntryID) {
	for e := range a.s.Tree().Entries() {
		if e.Kind == session.KindMessage && e.Role == session.RoleAssistant {
			list = append(list, e.ID)
		}
	}
	return list
}

// branch goes back to an entry and, unless only the leaf moves, continues from there.
func (a *author) branch(ctx context.Context, move bool) error {
	answers := a.answers()
	if len(answers) == 0 {
		return nil
	}
	to := answers[a.rnd.IntN(len(answers))]
	if _, err := a.s.Branch(ctx, to, treeline.BranchOptions{Durable: move}); err != nil || move {
		return err
	}
	return a.turn(ctx)
}

// answered makes the agent resume the session, and opens it again.
func (a *author) answered(ctx context.Context) error {
	path := a.s.Path()
	if err := a.s.Flush(ctx); err != nil {
		return err
	}
	c, err := a.command(ctx, a.store, path, treeline.ResumeOptions{})
	if err != nil {
		return err // the session stays open: there may be nothing to resume, and then the next step follows
	}
	if err := a.s.Close(); err != nil {
		return err
	}
	got, err := a.ask(ctx, c)
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
