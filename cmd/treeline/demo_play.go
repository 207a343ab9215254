package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// choose finds the session that the demo is about.
func (d *demoPlay) choose(rows []place.Row) error {
	place.Shorten(rows)
	for i := range rows {
		if rows[i].Title == demoTitle {
			d.id, d.path = rows[i].Short, rows[i].Path
			return nil
		}
	}
	return fmt.Errorf("the demo has no session %q", demoTitle)
}

// text prints a paragraph, styled by mark unless that is nil. Its first line begins with lead; the others are indented by the same width.
func (d *demoPlay) text(mark func(string) string, lead, text string) {
	for i, line := range screen.Wrap(text, max(d.out.Width-len(lead), 20)) {
		if i > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		if mark != nil {
			line = mark(line)
		}
		fmt.Fprintln(d.out, d.out.Style.Cyan(lead)+line)
	}
}

// say opens a step.
func (d *demoPlay) say(what string) {
	d.step++
	fmt.Fprintln(d.out)
	d.text(d.out.Style.Bold, fmt.Sprintf("%d. ", d.step), what)
}

// note comments on what a command printed.
func (d *demoPlay) note(text string) {
	fmt.Fprintln(d.out)
	d.text(d.out.Style.Dim, "   ", text)
}

// shell shows a command line, and a blank line before its output.
func (d *demoPlay) shell(line string) {
	d.text(d.out.Style.Cyan, "   ", "$ "+line)
	fmt.Fprintln(d.out)
}

// run shows a command and its output.
func (d *demoPlay) run(words ...string) error { return d.runHead(0, words...) }

// runHead is run, limited to the first lines of the output; 0 means all.
func (d *demoPlay) runHead(lines int, words ...string) error {
	more := ""
	if lines > 0 {
		more = fmt.Sprintf(" | head -n %d", lines)
	}
	d.shell("treeline " + strings.Join(words, " ") + more)
	var stdout, stderr bytes.Buffer
	b := demoApp(d.a, d.dir, &stdout, &stderr)
	b.Stdin, b.Columns = strings.NewReader(""), max(d.out.Width-3, 20)
	colour := map[bool]string{true: "--color=always", false: "--color=never"}[d.out.Style.On]
	if code := run(d.ctx, b, append([]string{colour}, words...)); code != exitFine {
		return fmt.Errorf("treeline %s: exit code %d: %s", strings.Join(words, " "), code, strings.TrimSpace(stderr.String()))
	}
	in := &indenter{w: d.out, lineStart: true}
	n := 0
	for line := range strings.Lines(stdout.String()) {
		if n++; lines > 0 && n > lines {
			break
		}
		if _, err := io.WriteString(in, line); err != nil {
			return err
		}
	}
	return nil
}

// demoAppends is how many entries the program of the last step appends before it is killed.
const demoAppends = 20

// kill is the last step: a program appends and is killed. What was acknowledged must be there.
func (d *demoPlay) kill() error {
	d.say("Once an append returns, it is never lost: not to kill -9, a full disk or a second writer.")
	d.shell("my-agent | treeline append " + d.id + " --stdin --sync always   # and kill -9")
	if d.a.Self == "" {
		d.note("(no second program can be started here)")
		return nil
	}
	receipts, err := d.killed()
	if err != nil {
		return err
	}
	s, err := demoApp(d.a, d.dir, io.Discard, io.Discard).Store()
	if err != nil {
		return err
	}
	defer s.Close()
	sess, err := s.Open(d.ctx, d.path, store.OpenOptions{})
	if err != nil {
		return err
	}
	defer sess.Close()
	for _, id := range receipts {
		if _, ok := sess.Tree().Lookup(session.EntryID(id)); !ok {
			return fmt.Errorf("entry %s was acknowledged and is lost", id)
		}
	}
	if n := len(sess.Tree().Problems()); n > 0 {
		return fmt.Errorf("%d problems in %s", n, d.path)
	}
	d.text(nil, "   ", fmt.Sprintf("%d appends were acknowledged, then the program was killed.", len(receipts)))
	d.text(nil, "   ", fmt.Sprintf("%d of them are in the file, and every line of it is whole.", len(receipts)))
	return nil
}

// killed starts a program that appends, kills it after some receipts, and returns these.
func (d *demoPlay) killed() (receipts []string, err error) {
	child := exec.CommandContext(d.ctx, d.a.Self, "append", d.path, "--stdin", "--sync", "always")
	child.Env = append(os.Environ(), "HOME="+d.dir, "USERPROFILE="+d.dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=")
	in, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	for n := range demoAppends {
		if _, err = fmt.Fprintf(in, `{"role":"user","content":"Note %d"}`+"\n", n+1); err != nil {
			break
		}
		var id string
		if id, err = lines.ReadString('\n'); err != nil {
			break
		}
		receipts = append(receipts, strings.TrimSpace(id))
	}
	err = errors.Join(err, child.Process.Kill())
	_ = child.Wait() // killed, as intended
	return receipts, err
}

// indenter puts spaces before each line that is not blank.
type indenter struct {
	w         io.Writer
	lineStart bool
}

func (i *indenter) Write(p []byte) (int, error) {
	var b bytes.Buffer
	for _, c := range p {
		if i.lineStart && c != '\n' {
			b.WriteString("   ")
		}
		i.lineStart = c == '\n'
		b.WriteByte(c)
	}
	if _, err := i.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
