package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/gen"
)

// watching measures the cost of an entry that is appended to one of many watched sessions, and the time until it is reported. The baseline
// opens the file, reads the line and decodes it. The watcher learns of the write only from the kernel.
func watching(b *bench) {
	sessions, lines := 1000, 300
	if b.quick {
		sessions, lines = 100, 50
	}
	root := filepath.Join(b.dir, "watched")
	check(gen.Tree(root, gen.TreeOptions{Seed: 1, Sessions: sessions}))
	logs := must(filepath.Glob(filepath.Join(root, "sessions", "*", "*.jsonl")))
	// The other sessions are watched as well, and must not cost anything.
	a := appender{logs: logs[:min(20, len(logs))]}
	known := b.best(func() { a.each(lines, a.read) })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	st := b.newStore(root)
	reports := make(chan string)
	go func() {
		defer close(reports)
		for c, err := range st.Watch(ctx, treeline.WatchOptions{}) {
			if err != nil || c.Kind == treeline.ChangeProblem {
				return
			}
			if c.Kind != treeline.ChangeStart && c.Kind != treeline.ChangeEntry {
				continue
			}
			select {
			case reports <- string(c.Entry.ID):
			case <-ctx.Done():
				return
			}
		}
	}()
	<-reports // it has started
	// Every entry is awaited before the next is written, so that times do not overlap.
	var waits []time.Duration
	cpu := b.best(func() {
		a.each(lines, func(_, id string, _ int64) {
			wrote := time.Now()
			if got, ok := <-reports; !ok || got != id {
				check(fmt.Errorf("%q was reported, not %q", got, id))
			}
			waits = append(waits, time.Since(wrote))
		})
	})
	// The median and the 99th percentile: an average would hide the slow poll that finds unreported changes.
	slices.Sort(waits)
	b.add(row{what: fmt.Sprintf("%d sessions watched: an entry is appended and told, CPU", sessions), figure: us(cpu, lines),
		baseline: "the file is known and only its line read " + us(known, lines), ratio: times(cpu, known), target: 5, most: true})
	b.add(row{what: fmt.Sprintf("%d sessions watched: until it is told", sessions), figure: ms(waits[len(waits)/2]),
		baseline: fmt.Sprintf("the median; one in a hundred takes %s", ms(waits[len(waits)*99/100]))})
}

// us formats the time per item.
func us(d time.Duration, n int) string { return fmt.Sprintf("%.1f µs", float64(d)/float64(n)/1e3) }

// appender writes to several sessions by turns.
type appender struct {
	logs []string
	made int
}

// each appends entries and calls then with the log, id and offset of each. The file is opened for each entry, as agents do.
func (a *appender) each(n int, then func(log, id string, at int64)) {
	for range n {
		a.made++
		log, id := a.logs[a.made%len(a.logs)], fmt.Sprintf("appended-%d", a.made)
		f := must(os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0))
		at := must(f.Seek(0, io.SeekEnd))
		must(fmt.Fprintf(f, `{"type":"message","id":%q,"parentId":null,"timestamp":"2026-07-01T10:00:00.000Z",`+
			`"message":{"role":"user","content":[{"type":"text","text":"one more question, of the usual length"}]}}`+"\n", id))
		check(f.Close())
		then(log, id, at)
	}
}

// read reads an appended entry.
func (a *appender) read(log, id string, at int64) {
	f := must(os.Open(log))
	defer f.Close()
	line := must(bufio.NewReader(io.NewSectionReader(f, at, 1<<20)).ReadBytes('\n'))
	var e envelope
	if check(json.Unmarshal(line, &e)); e.ID != id {
		check(fmt.Errorf("%q was read, not %q", e.ID, id))
	}
}
