package console

import (
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// Progress shows on one line of stderr how far a long operation is, and erases the line at the end. It is not safe for
// concurrent use.
type Progress struct {
	c     *Console
	what  string
	width int
	// bytes of ofBytes have been read; 0 if only files are counted.
	bytes, ofBytes int64
	on             bool
	next           time.Time
}

// Progress starts an operation on files. Nothing is shown if it ends soon, or if stderr is not a terminal that can erase a line.
func (c *Console) Progress(what string) *Progress {
	width, isTerminal := Width(c.Stderr)
	return &Progress{
		c: c, what: what, width: width,
		on: isTerminal && c.Getenv("TERM") != "dumb", next: time.Now().Add(c.ProgressAfter),
	}
}

// At shows that n of total files are done.
func (p *Progress) At(n, total int) {
	p.Show(func() string {
		line := fmt.Sprintf("%s %s of %s", p.what, wire.Number(int64(n)), wire.Count(total, "file", "files"))
		if p.ofBytes > 0 {
			line += fmt.Sprintf(", %d %%", p.bytes*100/p.ofBytes)
		}
		return line
	})
}

// Show shows a line if enough time has passed.
func (p *Progress) Show(text func() string) {
	if !p.on {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.c.showing = now.Add(p.c.ProgressEvery), p
		line := text()
		// A wrapped line could not be erased, and some terminals wrap after the last column.
		fmt.Fprintf(p.c.Stderr, "\r\x1b[K%s", screen.Cut(line, max(1, p.width-1)))
	}
}

// Read is At for files whose bytes are counted, too, since one file may be larger than all others together.
func (p *Progress) Read(n, total int, bytes, ofBytes int64) {
	p.bytes, p.ofBytes = bytes, ofBytes
	p.At(n, total)
}

// Clear erases the line.
func (p *Progress) Clear() {
	if p.c.showing == p {
		fmt.Fprint(p.c.Stderr, "\r\x1b[K")
		p.c.showing = nil
	}
}
