package main

import (
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// progress shows on one line of stderr how far a long operation is, and erases the line at the end. It is not safe for
// concurrent use.
type progress struct {
	a     *app
	what  string
	total int
	width int
	// bytes were read of ofBytes; 0 if only files are counted.
	bytes, ofBytes int64
	on             bool
	next           time.Time
}

// newProgress starts an operation over so many files. Nothing is shown if it ends soon, or if stderr is not a terminal
// that can erase a line.
func (a *app) newProgress(what string, total int) *progress {
	width, isTerminal := terminalWidth(a.stderr)
	return &progress{
		a: a, what: what, total: total, width: width,
		on: isTerminal && a.getenv("TERM") != "dumb", next: time.Now().Add(a.progressAfter),
	}
}

// at reports that n files are done.
func (p *progress) at(n int) {
	if !p.on {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.a.showing = now.Add(p.a.progressEvery), p
		line := fmt.Sprintf("%s %s of %s", p.what, wire.Number(int64(n)), wire.Count(p.total, "file", "files"))
		if p.ofBytes > 0 {
			line += fmt.Sprintf(", %d %%", p.bytes*100/p.ofBytes)
		}
		// A wrapped line could not be erased, and some terminals wrap after the last column.
		fmt.Fprintf(p.a.stderr, "\r\x1b[K%s", screen.Cut(line, max(1, p.width-1)))
	}
}

// of is at for an operation that learns its length on the way.
func (p *progress) of(n, total int) {
	p.total = total
	p.at(n)
}

// read counts bytes as well, since one log may be larger than all others together.
func (p *progress) read(r find.Progress) {
	p.bytes, p.ofBytes = r.Bytes, r.OfBytes
	p.of(r.Logs, r.OfLogs)
}

// clear erases the line.
func (p *progress) clear() {
	if p.a.showing == p {
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
		p.a.showing = nil
	}
}
