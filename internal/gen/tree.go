package gen

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// TreeOptions describe a folder of sessions.
type TreeOptions struct {
	Seed     uint64
	Sessions int   // 0 is 1,000
	Bytes    int64 // of all sessions together; 0 is 142,000 for each
	Folders  int   // projects; 0 is one for 25 sessions
	Pi       bool  // the format of pi, not omp
}

// smallestSession is the least Bytes of Options that can be met exactly.
const smallestSession = 2000 // bytes: a header, a prompt and an answer

// Tree writes the sessions of many projects in the layout of an agent's root (~/.omp/agent, ~/.pi/agent):
// dir/sessions/--<cwd>--/<time>_<id>.jsonl. Some sessions are a hundred times as large as most, and some projects have many
// sessions. The time of a file is that of its last entry, in the half year before July 2026.
func Tree(dir string, o TreeOptions) error {
	o.Sessions = cmp.Or(o.Sessions, 1000)
	o.Bytes = cmp.Or(o.Bytes, int64(o.Sessions)*142_000)
	o.Folders = cmp.Or(o.Folders, (o.Sessions+24)/25)
	spare := o.Bytes - int64(o.Sessions)*smallestSession
	if spare < 0 {
		return fmt.Errorf("%d sessions need at least %d bytes, not %d", o.Sessions, o.Sessions*smallestSession, o.Bytes)
	}
	t := newText(o.Seed, newVocabulary(o.Seed))
	// Each session gets the smallest size and a share of the rest, so that the sum is o.Bytes.
	weights, total := make([]int64, o.Sessions), int64(0)
	for i := range weights {
		weights[i] = int64(t.size(1000, 200, 400_000))
		total += weights[i]
	}
	folders := make([]*vocabulary, o.Folders)
	last := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	seeds := rand.NewPCG(o.Seed, 0x74726565)
	for i, weight := range weights {
		// The product of two uniform numbers prefers the first folders.
		folder := t.pick(1024) * t.pick(1024) * o.Folders >> 20
		project := o.Seed<<16 + uint64(folder)
		if folders[folder] == nil {
			folders[folder] = newVocabulary(project)
		}
		bytes := smallestSession + spare/total*weight + spare%total*weight/total
		options := Options{
			Seed: seeds.Uint64(), Project: project, Bytes: bytes, Branches: int(bytes / 300_000), Pi: o.Pi,
			Start: last.Add(-time.Duration(t.pick(1<<20)) * 14983 * time.Millisecond),
		}
		if err := writeFile(filepath.Join(dir, "sessions"), options, folders[folder]); err != nil {
			return fmt.Errorf("session %d: %w", i, err)
		}
	}
	return nil
}

// writeFile writes one session under the name that the agents give it, with the time of its last entry.
func writeFile(dir string, o Options, v *vocabulary) error {
	s := newSession(o, v)
	folder := filepath.Join(dir, "--"+strings.ReplaceAll(strings.TrimPrefix(s.o.Cwd, "/"), "/", "-")+"--")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	at := strings.NewReplacer(":", "-", ".", "-").Replace(s.o.Start.UTC().Format("2006-01-02T15:04:05.000Z"))
	name := filepath.Join(folder, at+"_"+s.o.ID+".jsonl")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	end, err := s.write(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Chtimes(name, end, end)
}
