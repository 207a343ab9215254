package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/interop/projected"
)

// scene is a session for an agent to resume.
type scene struct {
	name string
	// lay writes the session and gives the command that resumes it, or an empty one if there is nothing to resume.
	lay func(context.Context, *desk) (treeline.ResumeCommand, error)
	// recorded is a file with what the agent sent another time; "" lets it resume the session.
	recorded string
	// ask lets the agent resume the session; nil is without a terminal.
	ask func(context.Context, *desk, treeline.ResumeCommand) (sent, error)
	// must: the agent must resume it.
	must bool
}

// outcome is what both sides made of a scene.
type outcome struct {
	scene
	log  []byte
	near map[string][]byte // other logs in its folder
	want []string          // what this library says
	got  sent
	// empty: there is nothing to resume, such as no message to convert.
	empty bool
	err   error // nothing was compared
}

// compareResume makes the comparison "resume".
func compareResume(ctx context.Context, opt options) error {
	if !opt.boxed {
		fmt.Println("interop: Crush was not run: its package in npm is a script that fetches the program from GitHub, and scripts of packages are not run")
	}
	return boxedAgents(ctx, opt, "resume", func(agent) bool { return true }, func(a agent, path string) error { return a.compare(ctx, opt, path) })
}

// scenes returns what an agent resumes: the files of the command line, or else random sessions and what this library wrote. notes gets
// why some are left out.
func (a agent) scenes(opt options, notes io.Writer) (list []scene, err error) {
	for _, file := range opt.files {
		log, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if name := filepath.Base(file); a.claims(log) && opt.plays(name) {
			s := scene{name: name, lay: func(ctx context.Context, d *desk) (treeline.ResumeCommand, error) {
				if d.rows != nil {
					return d.layRows(ctx, log)
				}
				if d.bound {
					log = moved(log)
				}
				return d.lay(a.idOf(name, log), log, beside(file))
			}}
			if opt.recorded {
				s.recorded = strings.TrimSuffix(file, ".jsonl") + ".sent.json"
			}
			list = append(list, s)
		}
	}
	if len(opt.files) > 0 {
		return list, nil
	}
	if a.rows != nil {
		return a.rowScenes(opt)
	}
	if a.own {
		own, err := a.ownFiles()
		if err != nil {
			return nil, err
		}
		list = append(list, own...)
	}
	for i := range opt.resumes {
		if a.random == nil {
			break
		}
		seed := opt.seed + uint64(i)
		list = append(list, scene{name: fmt.Sprintf("random-%d", seed), lay: func(_ context.Context, d *desk) (treeline.ResumeCommand, error) {
			s := a.random(seed)
			return d.lay(s.ID, s.Log, s.Others)
		}})
	}
	for i := range opt.resumes / 4 {
		list = append(list, written(opt.seed+uint64(i)), begun(opt.seed+uint64(i)), abandoned(opt.seed+uint64(i)))
	}
	for i := range opt.conversions {
		list = append(list, a.converted(opt.seed+uint64(i))...)
	}
	list = append(list, onTerminal(opt, notes)...)
	fixtures, err := a.fixtures(opt)
	list = append(list, fixtures...)
	for name, reason := range a.skips {
		fmt.Fprintf(notes, "interop: %s has no scenes %q: %s\n", a.program.name, name, reason)
		list = slices.DeleteFunc(list, func(s scene) bool { return strings.HasPrefix(s.name, name) })
	}
	return slices.DeleteFunc(list, func(s scene) bool { return !opt.plays(s.name) }), err
}

// ownFiles are the scenes of sessions that the tests of the dialect read.
func (a agent) ownFiles() (list []scene, err error) {
	name := a.dialect.Name()
	files, err := filepath.Glob(filepath.Join("dialect", name, "testdata", name, "*.jsonl"))
	for _, file := range files {
		list = append(list, scene{name: "own-" + filepath.Base(file), lay: func(_ context.Context, d *desk) (c treeline.ResumeCommand, err error) {
			log, err := os.ReadFile(file)
			if err != nil || len(log) == 0 {
				return c, err
			}
			return d.lay(a.idOf(filepath.Base(file), log), log, nil)
		}})
	}
	return list, err
}

// compare lets an agent resume all its scenes, several at a time.
func (a agent) compare(ctx context.Context, opt options, path string) error {
	scenes, err := a.scenes(opt, os.Stdout)
	if err != nil {
		return err
	}
	if len(scenes) == 0 {
		fmt.Printf("interop: %s has none of these sessions\n", a.program.name)
		return nil
	}
	began := time.Now()
	outcomes, next := make([]outcome, len(scenes)), make(chan int)
	var workers sync.WaitGroup
	failed := make([]error, max(opt.parallel, 1))
	for w := range failed {
		workers.Go(func() {
			d, err := newDesk(a, path, filepath.Join(opt.work, fmt.Sprintf("%s-%d", a.program.name, w)))
			if err != nil {
				failed[w] = err
			} else {
				defer d.close()
			}
			for i := range next {
				if err == nil {
					outcomes[i] = d.play(ctx, scenes[i])
				}
			}
		})
	}
	for i := range scenes {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	if err := errors.Join(append(failed, ctx.Err())...); err != nil {
		return err
	}
	return a.report(opt, outcomes, time.Since(began))
}

// play compares both sides of one scene. This library reads first, since the agent appends its answer.
func (d *desk) play(ctx context.Context, s scene) outcome {
	o := outcome{scene: s}
	if o.err = d.clear(); o.err != nil {
		return o
	}
	if o.err = d.start(ctx); o.err != nil {
		return o
	}
	c, err := s.lay(ctx, d)
	if err != nil || c.Path == "" {
		o.err, o.empty = err, err == nil
		return o
	}
	if d.rows != nil {
		if o.err = d.housed(ctx); o.err != nil {
			return o
		}
	} else {
		if o.log, o.err = os.ReadFile(c.Path); o.err != nil {
			return o
		}
		o.near = logs(filepath.Dir(c.Path))
		delete(o.near, filepath.Base(c.Path))
	}
	// What it cannot open, it shows no messages of.
	want, model, refused := d.expect(ctx, c.Path)
	o.want = want
	if d.agent.model != nil {
		c.Env = append(c.Env, d.agent.model(model)...)
	}
	ask := d.ask
	if s.ask != nil {
		ask = func(ctx context.Context, c treeline.ResumeCommand) (sent, error) { return s.ask(ctx, d, c) }
	}
	if s.recorded != "" {
		ask = func(context.Context, treeline.ResumeCommand) (sent, error) { return d.recall(s.recorded) }
	}
	if o.got, o.err = ask(ctx, c); o.err == nil && refused != nil && o.got.body != nil {
		o.err = fmt.Errorf("this library: %w", refused)
	}
	if d.joins {
		o.want, o.got.messages = projected.Joined(o.want), projected.Joined(o.got.messages)
	}
	if s.must && o.err == nil && o.got.body == nil {
		o.err = fmt.Errorf("%s refused the session that this library wrote: %s", d.program.name, o.got.said)
	}
	return o
}

// report prints the differences, and keeps the sessions. Only differences that are not known make it fail.
func (a agent) report(opt options, outcomes []outcome, took time.Duration) error {
	equal, refused, empty, messages, accepted, different := 0, 0, 0, 0, 0, 0
	for _, o := range outcomes {
		if err := o.keep(opt.keep, a.program.name); err != nil {
			return err
		}
		diff := difftest.Diff(o.got.messages, o.want)
		reason, isKnown := a.known[o.name]
		if o.empty {
			empty++
			continue
		}
		if o.err == nil && diff == "" {
			equal, messages = equal+1, messages+len(o.want)
			if o.got.body == nil {
				refused++
			}
			if isKnown {
				fmt.Printf("interop: %s, %s does not differ any more: take it off the list of known differences\n", a.program.name, o.name)
			}
			continue
		}
		if isKnown {
			accepted++
			fmt.Printf("interop: %s, %s differs, as is known: %s\n", a.program.name, o.name, reason)
			continue
		}
		if different++; different <= opt.shown {
			fmt.Printf("--- %s, %s (-sent by the agent, +said by this library)\n", a.program.name, o.name)
			switch {
			case o.err != nil:
				fmt.Println(o.err)
			case o.got.body == nil:
				fmt.Printf("the agent refused it: %.300s\n%s", o.got.said, diff)
			default:
				fmt.Print(strings.ReplaceAll(diff, "\u00a0", " "))
			}
		}
	}
	fmt.Printf("interop: %s resumed %d sessions: it sends what this library says for %d of them (%d messages; %d have none or were refused), %d differ as is known, %d differ; %d have nothing to resume (%.1f s)\n",
		a.program.name, len(outcomes)-empty, equal, messages, refused, accepted, different, empty, took.Seconds())
	switch {
	case different > 0:
		return fmt.Errorf("%d of %d sessions differ", different, len(outcomes)-empty)
	case empty == len(outcomes):
		return fmt.Errorf("%w: none of the %d sessions has anything to resume", errNothing, empty)
	}
	return nil
}

// keep writes the session and the request, so that they can be compared again without the agent.
func (o outcome) keep(dir, agent string) error {
	if dir == "" || o.log == nil {
		return nil
	}
	name := filepath.Join(dir, agent+"-"+strings.TrimSuffix(o.name, ".jsonl"))
	folder := dir
	if len(o.near) > 0 {
		folder = name + ".d"
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for near, log := range o.near {
		if err := os.WriteFile(filepath.Join(folder, near), log, 0o600); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(name+".jsonl", o.log, 0o600), os.WriteFile(name+".sent.json", o.got.body, 0o600))
}
