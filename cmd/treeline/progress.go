package main

import (
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
)

// progress tells on a terminal how far a long run is, on one line that it wipes at the end. It is not for several goroutines
// at once.
// It goes to stderr: stdout may be a pipe, and belongs to the answer.
type progress struct {
	a     *app
	what  string
	total int
	width int
	// bytes were read of ofBytes; 0 where only files are counted.
	bytes, ofBytes int64
	on             bool
	next           time.Time
}

// newProgress begins to watch a run over so many files. Nothing is shown of one that is soon done, nor where there is no
// terminal, or one that cannot wipe a line.
func (a *app) newProgress(what string, total int) *progress {
	width, isTerminal := terminalWidth(a.stderr)
	return &progress{
		a: a, what: what, total: total, width: width,
		on: isTerminal && a.getenv("TERM") != "dumb", next: time.Now().Add(a.progressAfter),
	}
}

// at says that n files are done.
func (p *progress) at(n int) {
	if !p.on {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.a.showing = now.Add(p.a.progressEvery), p
		line := fmt.Sprintf("%s %s of %s", p.what, grouped(int64(n)), counted(p.total, "file", "files"))
		if p.ofBytes > 0 {
			line += fmt.Sprintf(", %d %%", p.bytes*100/p.ofBytes)
		}
		// A line that goes on in the next one could not be wiped, and the last column may begin the next one.
		fmt.Fprintf(p.a.stderr, "\r\x1b[K%s", screen.Cut(line, max(1, p.width-1)))
	}
}

// of is at for a run that learns only later how long it is.
func (p *progress) of(n, total int) {
	p.total = total
	p.at(n)
}

// read is of for logs: one may be larger than all others together, so that its bytes count too.
func (p *progress) read(r store.Progress) {
	p.bytes, p.ofBytes = r.Bytes, r.OfBytes
	p.of(r.Logs, r.OfLogs)
}

// clear wipes the line.
func (p *progress) clear() {
	if p.a.showing == p {
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
		p.a.showing = nil
	}
}
