package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/tui/view"
)

// viewing measures frames of the terminal program while a large session is scrolled, with all reads that they need. A frame may take 5 ms
// on any machine, which the eye does not notice.
func viewing(b *bench) {
	entries := 100_000
	if b.quick {
		entries = 10_000
	}
	path := filepath.Join(b.dir, "viewed.jsonl")
	check(os.WriteFile(path, gen.Session(gen.Options{Seed: 1, Entries: entries, Branches: entries / 500}), 0o600))
	st := b.newStore(b.dir)
	for _, c := range []struct {
		what       string
		inTree     bool
		begin, key string
	}{
		{"line by line", false, "g", "ctrl+e"}, {"page by page", false, "g", "pgdown"}, {"back from the end", false, "G", "pgup"},
		{"prompt by prompt", false, "g", "J"}, {"row by row in the tree", true, "g", "j"},
	} {
		sess := must(st.Open(context.Background(), path, treeline.OpenOptions{}))
		s := view.New(context.Background(), sess, view.Options{Palette: look.Colours(true)})
		v := &viewed{s}
		v.run(s.Init())
		if c.inTree {
			v.press("tab")
		}
		const frames = 100
		prepare := func() {
			v.press(c.begin)
			runtime.GC()
		}
		cpu := b.bestPieces(100*time.Millisecond, prepare, 1, func(int) {
			for range frames {
				v.press(c.key)
			}
		})
		check(s.(look.Closer).Close())
		per := float64(cpu.Microseconds()) / frames / float64(time.Millisecond/time.Microsecond)
		b.add(row{what: fmt.Sprintf("terminal: %d entries are scrolled %s, a frame", entries, c.what), figure: ms(cpu / frames),
			baseline: "120 columns, 40 lines", ratio: per, unit: "ms", target: 5, most: true})
	}
}

// viewed is a screen whose commands are run at once.
type viewed struct{ look.Screen }

func (v *viewed) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			v.run(c)
		}
	case look.To:
		_, next := v.Update(msg.Msg)
		v.run(next)
	}
}

// press presses a key and draws a frame.
func (v *viewed) press(name string) {
	for _, k := range v.Keys() {
		for _, key := range k.Keys {
			if key == name {
				v.run(k.Run())
				v.Draw(120, 40)
				return
			}
		}
	}
	check(fmt.Errorf("no key %s", name))
}
