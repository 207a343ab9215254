package wire

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/watch"
)

// brackets paints a style as its number, so that goldens show it.
func brackets(s Style, text string) string { return fmt.Sprintf("%d⟦%s⟧", s, text) }

func TestTranscript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		width int
		all   bool
		paint func(Style, string) string
	}{{name: "plain"}, {name: "all", all: true}, {name: "narrow", width: 40}, {name: "painted", paint: brackets}} {
		s := openSession(t, fixture(t))
		path, err := s.Tree().Path(s.Tree().LeafID())
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "text/transcript-"+c.name+".txt", func(p *Page) error {
			p.Width, p.Paint = c.width, c.paint
			p.Heading(s, "/home/you")
			tr := &Transcript{Page: *p, All: c.all, Label: s.Tree().Label, Dir: s.Header().CWD}
			tr.Section()
			return tr.Path(NewReader(t.Context(), s), path)
		})
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	s := openSession(t, fixture(t))
	tree := func() *Tree { return NewTree(s.Tree(), s.Dialect().Codec(), s.Header().CWD) }
	golden(t, "text/tree.txt", func(p *Page) error { return tree().Draw(t.Context(), p, -1) })
	golden(t, "json/tree.json", func(p *Page) error { return tree().WriteJSON(t.Context(), p) })
	golden(t, "text/tree-near.txt", func(p *Page) error {
		p.Width = 60
		v := tree()
		if err := v.From("00000006"); err != nil {
			return err
		}
		return v.Draw(t.Context(), p, 2)
	})
	if err := tree().From("nosuch"); err == nil {
		t.Error("no error for an entry that does not exist")
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	s := openSession(t, fixture(t))
	c, err := s.Context(t.Context(), s.Leaf(), store.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "text/context.txt", func(p *Page) error {
		return (&Transcript{Page: *p, Dir: s.Header().CWD}).Context(t.Context(), NewReader(t.Context(), s), c)
	})
	problems := []session.Problem{{File: "s.jsonl", Line: 13, Offset: 9, Kind: session.ProblemOrphan, Message: "m"}}
	golden(t, "json/context.json", func(p *Page) error { return WriteContext(p, c, s.MessageParts, &problems) })
	golden(t, "json/parts.json", func(p *Page) error {
		return WriteParts(p, treeline.Messages(t.Context(), s, "00000006", store.ContextOptions{}), &problems)
	})
	empty, err := s.Context(t.Context(), "", store.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "json/context-empty.json", func(p *Page) error { return WriteContext(p, empty, s.MessageParts, new([]session.Problem)) })
}

func TestRunText(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	whole, crashed := openRun(t, s, "run.jsonl"), openRun(t, s, "crashed.jsonl")
	transcript := func(p *Page, all bool) *Transcript {
		return &Transcript{Page: *p, All: all, MessageParts: codelia.MessageParts}
	}
	golden(t, "text/run.txt", func(p *Page) error { return transcript(p, false).Play(t.Context(), whole.Log) })
	golden(t, "text/run-crashed.txt", func(p *Page) error { return transcript(p, true).Play(t.Context(), crashed.Log) })
	golden(t, "text/run-aside.txt", func(p *Page) error {
		for _, r := range whole.Records() {
			body, err := r.Body()
			if err != nil {
				return err
			}
			if tr := transcript(p, false); !tr.Record(body) {
				tr.Aside(body)
			}
		}
		return nil
	})
	golden(t, "text/exchanges.txt", func(p *Page) error {
		tr := transcript(p, true)
		for _, x := range crashed.Exchanges() {
			j, err := NewExchange(x)
			if err != nil {
				return err
			}
			if err := tr.Exchange(x, j); err != nil {
				return err
			}
		}
		return nil
	})
	golden(t, "json/exchanges.json", func(p *Page) error {
		for _, x := range crashed.Exchanges() {
			j, err := NewExchange(x)
			if err != nil {
				return err
			}
			if err := Write(p, j); err != nil {
				return err
			}
		}
		return nil
	})
	golden(t, "text/audit.txt", func(p *Page) error {
		report, err := run.Audit(crashed.Log)
		if err == nil {
			p.Audit(report)
		}
		return err
	})
	steps, err := run.Diff(whole.Log, crashed.Log)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "text/diff.txt", func(p *Page) error { p.RunDiff(NewRunDiff("a", "b", steps)); return nil })
	golden(t, "json/diff.json", func(p *Page) error { return Write(p, NewRunDiff("a", "b", steps)) })
}

func TestProblem(t *testing.T) {
	t.Parallel()
	golden(t, "text/problem.txt", func(p *Page) error {
		p.Problem(session.Problem{File: "a\x1b.jsonl", Line: 3, Offset: 177, Kind: session.ProblemTorn, Message: "torn\nrecord", Advice: "kept"})
		p.Problem(session.Problem{File: "b", Kind: session.ProblemUnreadable, Message: "permission denied"})
		return nil
	})
}

// TestLive follows a session from its start: as text, and as events.
func TestLive(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	opt := watch.Options{Path: filepath.Join("testdata", "session.jsonl"), Last: watch.AllEntries}
	var changes []watch.Change
	for c, err := range s.Watch(t.Context(), opt) {
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, c)
		if c.Kind == watch.KindEntry && c.Entry.ID == "0000000d" {
			break
		}
	}
	last := changes[len(changes)-1]
	for _, kind := range []watch.Kind{watch.KindSession, watch.KindReplaced, watch.KindTruncated, watch.KindRemoved} {
		c := last
		c.Kind = kind
		changes = append(changes, c)
	}
	golden(t, "text/live.txt", func(p *Page) error {
		l := NewLive(*p, "/home/you")
		for _, c := range changes {
			if err := l.Tell(t.Context(), c); err != nil {
				return err
			}
		}
		return nil
	})
	golden(t, "json/changes.json", func(p *Page) error {
		for _, c := range changes {
			j, err := NewChange(t.Context(), c)
			if err != nil {
				return err
			}
			if j.Path != "" {
				j.Path = filepath.Base(j.Path) // it is absolute
			}
			if err := Write(p, j); err != nil {
				return err
			}
		}
		return nil
	})
}
