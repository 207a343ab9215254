package wire

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Problem writes a problem as compilers do: place, kind and message on a line, the advice below. Editors and CI jobs
// can jump to file:line.
func (p *Page) Problem(pr session.Problem) {
	where := screen.Clean(pr.File)
	message := screen.OneLine(pr.Message, 0)
	if pr.Line > 0 {
		where += fmt.Sprintf(":%d", pr.Line)
		message += p.paint(StyleFaint, fmt.Sprintf(" (byte %d)", pr.Offset))
	}
	fmt.Fprintf(p, "%s: %s: %s\n", p.paint(StyleStrong, where), p.paint(StyleError, string(pr.Kind)), message)
	if pr.Advice != "" {
		fmt.Fprintln(p, p.paint(StyleFaint, "    "+screen.OneLine(pr.Advice, 0)))
	}
}

// Secret writes a secret in the form of a problem: place, kind and hint on a line.
func (p *Page) Secret(s Secret) {
	entry := ""
	if s.Entry != "" {
		entry = "entry " + screen.OneLine(string(s.Entry), 0) + ", "
	}
	fmt.Fprintf(p, "%s: %s: %s%s\n", p.paint(StyleStrong, fmt.Sprintf("%s:%d", screen.Clean(s.Path), s.Line)), p.paint(StyleError, s.Kind), screen.OneLine(s.Hint, 0),
		p.paint(StyleFaint, fmt.Sprintf(" (%sbyte %d)", entry, s.Offset)))
}

// Audit writes an audit: the header of the run, its usage, and its faults. Damage of the file counts as a fault.
func (p *Page) Audit(r *run.Report) {
	words := []string{"run " + r.RunID, r.Outcome}
	if r.SessionID != "" {
		words = append(words, "session "+r.SessionID)
	}
	words = append(words, strconv.FormatFloat(r.Seconds, 'f', 1, 64)+" s")
	fmt.Fprintln(p, p.paint(StyleStrong, screen.OneLine(strings.Join(words, " · "), 0)))
	fmt.Fprintf(p, "%s, %s, %s, %s (%d failed), %s\n", Count(r.Requests, "request", "requests"), Count(r.Responses, "response", "responses"),
		Count(r.ToolCalls, "tool call", "tool calls"), Count(r.ToolOutputs, "output", "outputs"), r.ToolErrors, Count(r.Events, "event", "events"))
	// The sum over all models comes last. With one model it is left out.
	for _, t := range append(r.Models, r.Tokens) {
		if t.Model == "" && (len(r.Models) == 1 || t.Responses == 0) {
			continue
		}
		cached := ""
		if t.Cached > 0 {
			cached = " (" + Number(t.Cached) + " cached)"
		}
		fmt.Fprintf(p, "tokens of %s: %s in%s, %s out, %s in all\n", cmp.Or(screen.OneLine(t.Model, 60), "all models"),
			Number(t.Input), cached, Number(t.Output), Number(t.Total))
	}
	for _, pr := range r.Problems {
		fmt.Fprintf(p, "%s %s: %s\n", p.paint(StyleError, "fault"), pr.Kind, screen.OneLine(pr.String(), 0))
	}
	notes := 0
	for _, f := range r.Findings {
		what := p.paint(StyleError, "fault")
		if f.Note {
			what = p.paint(StyleFaint, "note")
			notes++
		}
		where := ""
		if f.Line > 0 {
			where = fmt.Sprintf("line %d: ", f.Line)
		}
		fmt.Fprintf(p, "%s %s: %s%s\n", what, f.Kind, where, screen.OneLine(f.Message, 0))
	}
	fmt.Fprintf(p, "%s, %s\n", Count(r.Faults(), "fault", "faults"), Count(notes, "note", "notes"))
}

// RunDiff writes the comparison of two runs step by step. The first difference is repeated at the end, since the steps may fill pages.
func (p *Page) RunDiff(d RunDiff) {
	for _, s := range d.Steps {
		if s.Difference == nil {
			fmt.Fprintln(p, p.paint(StyleFaint, "= "+s.Name))
			continue
		}
		fmt.Fprintln(p, p.paint(StyleError, "≠ "+s.Name)+"  "+screen.OneLine(stepText(s), 0))
	}
	if d.First == nil {
		fmt.Fprintln(p, "the runs are equal")
		return
	}
	fmt.Fprintln(p, screen.OneLine(fmt.Sprintf("first difference: %s, %s", d.First.Name, stepText(*d.First)), 0))
}

// stepText says where in its log a step is that only one run has. It does not show the content, which may be a whole request.
func stepText(s run.Step) string {
	switch {
	case s.LineB == 0 && s.LineA > 0 && s.Difference.Pointer == "":
		return fmt.Sprintf("only the first run has it (line %d)", s.LineA)
	case s.LineA == 0 && s.LineB > 0 && s.Difference.Pointer == "":
		return fmt.Sprintf("only the second run has it (line %d)", s.LineB)
	}
	return s.Difference.Describe("first", "second")
}
