package main

import (
	"fmt"
	"time"
)

// progress tells on a terminal how far a long run is, on one line that it wipes at the end. It is not for several goroutines
// at once.
// It goes to stderr: stdout may be a pipe, and belongs to the answer.
type progress struct {
	a     *app
	what  string
	total int
	on    bool
	next  time.Time
}

// newProgress begins to watch a run over so many files. Nothing is shown of one that is soon done, nor where there is no
// terminal, or one that cannot wipe a line.
func (a *app) newProgress(what string, total int) *progress {
	_, isTerminal := terminalWidth(a.stderr)
	return &progress{a: a, what: what, total: total, on: isTerminal && a.getenv("TERM") != "dumb", next: time.Now().Add(a.progressAfter)}
}

// at says that n files are done.
func (p *progress) at(n int) {
	if !p.on {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.a.showing = now.Add(p.a.progressEvery), p
		fmt.Fprintf(p.a.stderr, "\r\x1b[K%s %s of %s", p.what, grouped(int64(n)), counted(p.total, "file", "files"))
	}
}

// of is at for a run that learns only later how long it is.
func (p *progress) of(n, total int) {
	p.total = total
	p.at(n)
}

// clear wipes the line.
func (p *progress) clear() {
	if p.a.showing == p {
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
		p.a.showing = nil
	}
}
