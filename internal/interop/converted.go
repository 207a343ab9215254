package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/gemini"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/dialect/qwen"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/internal/gen"
)

// converted returns the scenes of a random conversation in the formats of every other family, continued in the agent.
func (a agent) converted(seed uint64) (list []scene) {
	options := gen.Options{Seed: seed, Entries: 40, CompactEvery: 25, Branches: 1}
	log := gen.Session(options)
	options.Pi = true
	slot := pi.Omp18.NewSlot(dialect.NewSession{Title: "A title", Time: time.UnixMilli(1_771_236_000_000)})
	for _, from := range []struct {
		dialect dialect.Dialect
		log     []byte
	}{
		{pi.Pi, gen.Session(options)}, {pi.Omp, log}, {pi.Omp18, append(append(slot, '\n'), log...)}, {wave.Wave, gen.Wave(log)}, {codelia.Codelia, gen.Run(log)},
		{codelia.State, gen.State(log)}, {operator.Operator, gen.Operator(log)}, {claude.Claude, gen.Claude(log)}, {codex.Codex, gen.Codex(log)},
		{gemini.Gemini, gen.Gemini(log)}, {qwen.Qwen, gen.Qwen(log)},
	} {
		if from.dialect == a.dialect {
			continue
		}
		list = append(list, scene{name: fmt.Sprintf("from-%s-%d", from.dialect.Name(), seed), must: true, lay: func(ctx context.Context, d *desk) (treeline.ResumeCommand, error) {
			return d.resumeIn(ctx, from.dialect, from.log)
		}})
	}
	return list
}

// fixtures returns the scenes of sessions that the tests of other dialects read: as many as the options allow.
func (a agent) fixtures(opt options) (list []scene, err error) {
	for _, from := range all.Dialects() {
		if from == a.dialect {
			continue
		}
		files, err := filepath.Glob(filepath.Join("dialect", "*", "testdata", from.Name(), "*.jsonl"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.Size() == 0 { // an empty file is no session
				continue
			}
			name := fmt.Sprintf("fixture-%s-%s", from.Name(), filepath.Base(file))
			list = append(list, scene{name: name, lay: func(ctx context.Context, d *desk) (treeline.ResumeCommand, error) {
				log, err := os.ReadFile(file)
				if err != nil {
					return treeline.ResumeCommand{}, err
				}
				return d.resumeIn(ctx, from, log)
			}})
		}
	}
	if len(list) == 0 && opt.fixtures > 0 {
		return nil, errors.New("there are no fixtures here: start it in the folder of the module")
	}
	rnd := rand.New(rand.NewPCG(opt.seed, 33))
	rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(opt.fixtures, len(list))], nil
}

// resumeIn converts a log of another agent as "treeline resume --in" does. A log without messages yields no command.
func (d *desk) resumeIn(ctx context.Context, from dialect.Dialect, log []byte) (c treeline.ResumeCommand, err error) {
	store, err := d.store()
	if err != nil {
		return c, err
	}
	defer store.Close()
	source := filepath.Join(d.home, "source", "019cab00-0000-7000-8000-00000000000a.jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(source), 0o700), os.WriteFile(source, log, 0o600)); err != nil {
		return c, err
	}
	src, err := store.Open(ctx, source, treeline.OpenOptions{Dialect: from})
	if err != nil {
		return c, err
	}
	defer func() { src.Close() }()
	// Some agents find a session only in its working directory, which must exist.
	if cwd := src.CWD(); d.bound && cwd != "" && cwd != d.workDir && src.Close() == nil {
		log = bytes.ReplaceAll(log, []byte(`"`+cwd+`"`), []byte(`"`+d.workDir+`"`))
		log = bytes.ReplaceAll(log, hashed(cwd), hashed(d.workDir))
		err = os.WriteFile(source, log, 0o600)
		if err == nil {
			src, err = store.Open(ctx, source, treeline.OpenOptions{Dialect: from})
		}
		if err != nil {
			return c, err
		}
	}
	c, err = store.ResumeCommand(ctx, src, treeline.ResumeOptions{In: d.dialect, Write: treeline.WriteOptions{Force: true}})
	if errors.Is(err, dialect.ErrUnsupported) {
		if said, failed := d.expectAt(ctx, src, src.Leaf()); failed == nil && len(said) == 0 {
			return treeline.ResumeCommand{}, nil
		}
	}
	return c, err
}

// hashed returns the hash by which Gemini CLI identifies a directory.
func hashed(dir string) []byte { return fmt.Appendf(nil, "%x", sha256.Sum256([]byte(dir))) }
