package transcript_test

import (
	"fmt"
	"strings"

	"github.com/treeline-dev/treeline/internal/diff"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

// dump formats a window as text for goldens.
func dump(w *transcript.Window) string {
	var b strings.Builder
	fmt.Fprintf(&b, "leaf %s, %d entries", w.Leaf, w.Total)
	if w.Position > 0 || w.Earlier || w.Later {
		fmt.Fprintf(&b, ", from %d, earlier %t, later %t", w.Position, w.Earlier, w.Later)
	}
	if w.Estimate > 0 {
		fmt.Fprintf(&b, ", about %d tokens", w.Estimate)
	}
	b.WriteByte('\n')
	for i := range w.Blocks {
		dumpBlock(&b, &w.Blocks[i])
	}
	if w.Onward != nil {
		b.WriteString("onward")
		dumpFork(&b, w.Onward)
	}
	for _, p := range w.Problems {
		fmt.Fprintf(&b, "problem %s line %d: %s\n", p.Kind, p.Line, p.Message)
	}
	return b.String()
}

func dumpFork(b *strings.Builder, f *transcript.Fork) {
	fmt.Fprintf(b, " ‹ branch %d of %d › after %q\n", f.Current, f.Count, f.At)
	for _, r := range f.Branches {
		fmt.Fprintf(b, "    %d: %s … %s, %d entries: %s\n", r.Number, r.First, r.Tip, r.Entries, r.Label)
	}
}

func dumpBlock(b *strings.Builder, k *transcript.Block) {
	if k.Fork != nil {
		b.WriteString("──")
		dumpFork(b, k.Fork)
	}
	fmt.Fprintf(b, "%s %s", k.Kind, k.ID)
	for _, id := range k.Also {
		fmt.Fprintf(b, "+%s", id)
	}
	words := []string{k.Speaker, k.Native, k.Model, k.Label, k.Stop, k.Error, k.Line}
	for i, name := range []string{"", "type ", "", "⚑ ", "ended ", "error ", "| "} {
		if words[i] != "" {
			fmt.Fprintf(b, " · %s%s", name, words[i])
		}
	}
	for _, f := range []struct {
		on   bool
		word string
	}{{k.Prompt, "prompt"}, {k.Meta, "meta"}, {k.Hidden, "hidden"}, {k.Final, "final"}, {k.Unseen, "unseen"}, {k.OnlyNote, "note"}} {
		if f.on {
			b.WriteString(" · " + f.word)
		}
	}
	if u := k.Usage; u != (session.Usage{}) {
		fmt.Fprintf(b, " · %d in %d out $%.4g", u.Input, u.Output, u.Cost)
	}
	if k.Estimate > 0 {
		fmt.Fprintf(b, " · about %d", k.Estimate)
	}
	b.WriteByte('\n')
	dumpPieces(b, k.Pieces, "  ")
	for _, p := range k.Problems {
		fmt.Fprintf(b, "  problem %s line %d: %s\n", p.Kind, p.Line, p.Message)
	}
}

func dumpPieces(b *strings.Builder, pieces []transcript.Piece, margin string) {
	for _, p := range pieces {
		switch p := p.(type) {
		case transcript.Text:
			fmt.Fprintf(b, "%stext %q", margin, p.Text)
			if p.Cut > 0 {
				fmt.Fprintf(b, " and %d bytes of %s", p.Cut, p.Entry)
			}
			b.WriteByte('\n')
		case transcript.Thinking:
			fmt.Fprintf(b, "%sthinking %q redacted %t\n", margin, p.Text, p.Redacted)
		case transcript.Image:
			fmt.Fprintf(b, "%simage %s %d bytes, blob %t, %s#%d\n", margin, p.MIME, p.Size, p.Blob, p.Entry, p.Index)
		case transcript.Compacted:
			fmt.Fprintf(b, "%s%d → %d tokens, kept from %q, from %q: %q\n", margin, p.Before, p.After, p.FirstKept, p.From, p.Summary.Text)
		case transcript.Raw:
			fmt.Fprintf(b, "%sraw %s %s\n", margin, p.Type, p.JSON)
		case transcript.Tools:
			for i := range p.Calls {
				dumpTool(b, &p.Calls[i], margin)
			}
		}
	}
}

func dumpTool(b *strings.Builder, t *transcript.Tool, margin string) {
	fmt.Fprintf(b, "%stool %s %s (%s) input %s call %q result %q", margin, t.CallID, t.Name, t.Title, t.Input, t.Call, t.Result)
	if t.Failed {
		b.WriteString(" failed")
	}
	if !t.Answered {
		b.WriteString(" unanswered")
	}
	if t.Took > 0 {
		fmt.Fprintf(b, " took %s", t.Took)
	}
	b.WriteByte('\n')
	if c := t.Child; c != nil {
		fmt.Fprintf(b, "%s  child %+v\n", margin, *c)
	}
	dumpPieces(b, t.Output, margin+"  ")
	for _, e := range t.Edits {
		dumpEdit(b, &e, margin+"  ")
	}
}

func dumpEdit(b *strings.Builder, e *transcript.Edit, margin string) {
	fmt.Fprintf(b, "%sedit %s +%d -%d", margin, e.Path, e.Added, e.Removed)
	if e.From != "" {
		fmt.Fprintf(b, " from %s", e.From)
	}
	if e.New {
		b.WriteString(" new")
	}
	if e.Deleted {
		b.WriteString(" deleted")
	}
	if e.Partial != "" {
		fmt.Fprintf(b, " (%s)", e.Partial)
	}
	b.WriteByte('\n')
	for line := range strings.Lines(string(diff.Append(nil, e.Hunks))) {
		b.WriteString(margin + "  " + line)
	}
}

// dumpRail formats a rail as text.
func dumpRail(r *transcript.Rail) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d branches, %d entries, %d columns\n", r.Branches, r.Entries, r.Columns)
	for n, w := range r.Rows {
		fmt.Fprintf(&b, "%2d ↑%2d %s", n, w.Above, strings.Repeat("│ ", w.Column))
		sign := "○"
		if w.Active {
			sign = "●"
		}
		if w.Kind == transcript.RowRun {
			fmt.Fprintf(&b, "⋮ %d entries", w.Count)
		} else {
			fmt.Fprintf(&b, "%s %s %s", sign, w.Entry, w.Text)
		}
		for _, f := range []struct {
			on   bool
			word string
		}{{w.Fork, "fork"}, {w.Leaf, "leaf"}, {w.Here, "here"}, {w.Block != transcript.Message, w.Block.String()}, {w.Label != "", "⚑ " + w.Label}} {
			if f.on {
				b.WriteString(" · " + f.word)
			}
		}
		if w.Number > 0 {
			fmt.Fprintf(&b, " · branch %d", w.Number)
		}
		if w.Branches > 0 {
			fmt.Fprintf(&b, " · %d more branches", w.Branches)
		}
		if w.Kind == transcript.RowEntry && !w.Active {
			fmt.Fprintf(&b, " → %s", w.Link)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
