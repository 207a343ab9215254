package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// showCommand reads one way through the tree, the one that the agent would go on with. What is beside it is drawn
// by 'tree'; what the model sees of it is told by 'context'.
func (a *app) showCommand() *cobra.Command {
	var (
		f    sessionFlags
		leaf string
		all  bool
	)
	cmd := &cobra.Command{
		Use:   "show <session>",
		Short: "Read a session",
		Long: "Show the conversation from its beginning to the leaf, or to another entry, as a transcript. What tools were told and\n" +
			"answered is folded, and messages that an extension hides are left out, unless --all is given.\n" +
			"With --json each entry is one object on a line of its own." + sessionHelp + entryHelp,
		Example: "  treeline show @last\n  treeline show 01a1dcc8 --all\n  treeline show 01a1dcc8#5a60be28\n  treeline show session.jsonl --json | jq -r 'select(.role==\"user\").parts[].text'",
		Args:    args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, leaf, err := oneLeaf(cmd, args[0], "leaf", leaf)
			if err != nil {
				return err
			}
			s, err := a.open(cmd.Context(), cmd, ref, f)
			if err != nil {
				return err
			}
			defer s.Close()
			at, err := leafOf(s, leaf)
			if err != nil {
				return err
			}
			return a.show(cmd.Context(), s, at, all, f.json)
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	addLeaf(cmd, &leaf)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "fold and hide nothing")
	return cmd
}

// Problems are told behind the transcript: before it, a pager would cover them.
func (a *app) show(ctx context.Context, s *store.Session, leaf session.EntryID, all, asJSON bool) error {
	path, err := s.Tree().Path(leaf)
	if err != nil {
		return err
	}
	blobs := newBlobSizes(ctx, s)
	err = a.page(ctx, func(ctx context.Context, out *output) error {
		if asJSON {
			return showJSON(ctx, out, s, path, blobs)
		}
		return a.transcript(ctx, out, s, path, blobs, all)
	})
	a.problems(append(s.Tree().Problems(), blobs.problems...))
	return err
}

// transcript writes a path for people.
func (a *app) transcript(ctx context.Context, out *output, s *store.Session, path session.Path, blobs *blobSizes, all bool) error {
	t := &transcript{out: out, all: all, label: s.Tree().Label, blobSize: blobs.size, cwd: s.Header().CWD}
	for _, line := range a.about(s, out) {
		t.line(line)
	}
	t.last = note
	for _, e := range path.Entries() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v, err := blobs.look(e)
		if err != nil {
			return err
		}
		t.entry(v)
		if _, err := out.Write(nil); err != nil { // a reader that went away
			return err
		}
	}
	if path.Len() == 0 {
		t.begin(speech)
		t.line(out.style.dim("(nothing is said yet)"))
	}
	return nil
}

// showJSON prints an entry a line, in a stable format (entryJSON): text is there for entries without parts, which
// say something in their own members only.
func showJSON(ctx context.Context, out *output, s *store.Session, path session.Path, blobs *blobSizes) error {
	for _, e := range path.Entries() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v, err := blobs.look(e)
		if err != nil {
			return err
		}
		j := newEntryJSON(s.Tree(), v)
		j.Parts = partsJSON(v.parts, blobs.size)
		if len(v.parts) == 0 {
			text := v.line(0)
			j.Text = &text
		}
		if err := writeJSON(out, j); err != nil {
			return err
		}
	}
	return nil
}

// about says what session this is: the title, and a line with the rest.
// The directory gives way where the line is too short: id and dialect are what one copies.
func (a *app) about(s *store.Session, out *output) []string {
	h := s.Header()
	st := out.style
	var lines []string
	if title := titleOf(s); title != "" {
		lines = append(lines, st.bold(screen.Cut(title, out.width)))
	}
	if h.ID == "" {
		return append(lines, st.dim(s.Dialect().Name()+" · empty file"))
	}
	when := ""
	if at, ok := h.Timestamp.Time(); ok {
		when = at.In(time.Local).Format("2006-01-02 15:04")
	}
	name := screen.OneLine(string(h.ID), 60)
	cwd := tilde(screen.OneLine(h.CWD, 0), a.home())
	const dots = len(" · ")
	if out.width > 0 {
		cwd = screen.CutPath(cwd, max(out.width-displayWidth(s.Dialect().Name()+name+when)-3*dots, 12))
	}
	words := slices.DeleteFunc([]string{s.Dialect().Name(), name, cwd, when}, func(w string) bool { return w == "" })
	return append(lines, st.dim(strings.Join(words, " · ")))
}

// titleOf is the title that a session has now: entries may have named it since the header was written.
// It goes from the end, since the last entry that names it counts, and looks at one such entry only.
func titleOf(s *store.Session) string {
	title := s.Header().Title
	t := s.Tree()
	for i := t.Len() - 1; i >= 0; i-- {
		e := t.At(i)
		if e.Kind != session.KindSessionInfo {
			continue
		}
		if b, err := e.Body(); err == nil {
			if info, ok := b.(session.SessionInfo); ok && info.Name != "" {
				title = info.Name
			}
		}
		break
	}
	return screen.OneLine(title, 200)
}

// blobSizes looks blobs up, each once, and keeps what is wrong with them.
// The problems have the line of the entry that names the blob, because that is what 'check' could show.
type blobSizes struct {
	ctx      context.Context
	s        *store.Session
	entry    session.Entry // the one that is being looked at, for problems
	known    map[string]int64
	problems []session.Problem
}

func newBlobSizes(ctx context.Context, s *store.Session) *blobSizes {
	return &blobSizes{ctx: ctx, s: s, known: map[string]int64{}}
}

// look reads an entry, with what was cut off it when it was written.
func (b *blobSizes) look(e session.Entry) (view, error) {
	b.entry = e
	raw, problems, err := b.s.Whole(b.ctx, e)
	if err != nil {
		return view{}, err
	}
	b.problems = append(b.problems, problems...)
	return lookInto(b.s.Dialect().Codec(), e, raw)
}

// A blob is read as a whole to learn its size: its bytes are compared with its hash, and one that is damaged
// counts as not there.
func (b *blobSizes) size(ref string) int64 {
	if n, ok := b.known[ref]; ok {
		return n
	}
	data, p := b.s.Blob(b.ctx, ref)
	n := int64(len(data))
	if p != nil {
		n = -1
		p.Line, p.Offset = b.entry.Line, b.entry.Span.Offset
		b.problems = append(b.problems, *p)
	}
	b.known[ref] = n
	return n
}
