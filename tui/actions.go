package tui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// act performs an action. It asks first if something is missing or would be lost.
func (p *program) act(a look.Action, t look.Target) tea.Cmd {
	switch {
	case p.Command == nil, a == look.Browse && p.Browse == nil:
		return look.Send(look.Status{Text: "this is not possible here", Error: true})
	case a == look.Delete && p.Archive:
		return look.Send(look.Status{Text: "sessions of an archive cannot be removed here", Error: true})
	}
	switch a {
	case look.Label:
		question := "Label for entry " + t.Entry
		if t.Label != "" {
			question += "; empty removes it"
		}
		return look.Send(look.Ask{Question: question, Value: t.Label, Then: func(label string) tea.Cmd { return p.label(t, strings.TrimSpace(label)) }})
	case look.Rename:
		return look.Send(look.Ask{Question: "Title of the session; empty removes it", Value: t.Title, Then: func(title string) tea.Cmd {
			return p.run(a, t, "renamed", "rename", "--", t.Path, strings.TrimSpace(title))
		}})
	case look.BranchHere:
		return p.run(a, t, "the session continues from "+t.Entry, "branch", "--", t.Path, t.Entry)
	case look.ForkHere:
		return p.fork(t)
	case look.CopyResume:
		return p.copyResume(t)
	case look.ResumeElsewhere:
		return p.resumeElsewhere(t)
	case look.Export:
		return look.Send(look.Ask{Question: "Export to which file? .html, .md, .json or .txt", Value: fileName(t) + ".html", Then: func(file string) tea.Cmd {
			file = strings.TrimSpace(file)
			return p.run(a, t, "written to "+file, "export", "-o", file, "--", t.Path)
		}})
	case look.Browse:
		return func() tea.Msg {
			url, err := p.Browse(p.ctx, t.ID)
			switch {
			case url == "":
				return failed(err)
			case err != nil: // over ssh there is no browser; the address may work all the same
				return look.Copy{Text: url, What: "the address (" + err.Error() + ")"}
			}
			return look.Status{Text: url + " is served until this program ends"}
		}
	case look.Delete:
		return look.Send(look.Confirm{
			Question: "Move this session to the trash?", Detail: []string{t.Title, t.Agent + " · " + wire.Tilde(t.Path, p.Home)},
			Then: p.run(a, t, "moved to the trash; treeline rm --undo "+cmp.Or(t.Ref, t.ID)+" puts it back", "rm", "--yes", "--", t.Path),
		})
	}
	return nil
}

func failed(err error) look.Status { return look.Status{Text: err.Error(), Error: true} }

// run runs a treeline command, tells the screen, and shows text.
func (p *program) run(a look.Action, t look.Target, text string, args ...string) tea.Cmd {
	return func() tea.Msg {
		_, notes, err := p.Command(p.ctx, args...)
		if err != nil {
			return failed(err)
		}
		return tea.BatchMsg{
			look.Send(look.Status{Text: strings.Join(append([]string{text}, notes...), "; ")}),
			look.Send(look.Done{Action: a, Target: t}),
		}
	}
}

func (p *program) label(t look.Target, label string) tea.Cmd {
	switch {
	case label == t.Label:
		return look.Send(look.Status{Text: "nothing changed"})
	case label == "":
		return p.run(look.Label, t, "label removed", "label", "--clear", "--", t.Path, t.Entry)
	}
	return p.run(look.Label, t, "labelled "+label, "label", "--", t.Path, t.Entry, label)
}

// fork makes the copy and opens it.
func (p *program) fork(t look.Target) tea.Cmd {
	return func() tea.Msg {
		out, _, err := p.Command(p.ctx, "fork", "--leaf", t.Entry, "--", t.Path)
		if err != nil {
			return failed(err)
		}
		return tea.BatchMsg{look.Send(look.Done{Action: look.ForkHere, Target: t}), look.Send(look.Open{Path: strings.TrimSpace(out)})}
	}
}

func (p *program) copyResume(t look.Target) tea.Cmd {
	return func() tea.Msg {
		out, notes, err := p.Command(p.ctx, "resume", "--", t.Path)
		if err != nil {
			return failed(err)
		}
		what := "the resume command"
		if len(notes) > 0 {
			what += " (" + strings.Join(notes, "; ") + ")"
		}
		return look.Copy{Text: strings.TrimSpace(out), What: what}
	}
}

// resumeElsewhere asks for the agent, converts the session, reports what is lost, and asks what to do with the command.
func (p *program) resumeElsewhere(t look.Target) tea.Cmd {
	own := t.Agent
	if d, err := p.Store.Dialect(t.Agent); err == nil {
		if l, ok := d.(interface{ Program() string }); ok {
			own = l.Program() // an agent may have several formats
		}
	}
	var options []look.Option
	for _, name := range p.Agents {
		o := look.Option{Name: name, Note: "a copy is made; the session stays as it is"}
		if name == own {
			o.Note = "its own agent"
		}
		options = append(options, o)
	}
	return look.Send(look.Choose{Question: "Resume in which agent?", Options: options, Then: func(i int) tea.Cmd {
		agent := options[i].Name
		p.status = look.Status{Text: "converting …"}
		return func() tea.Msg {
			out, notes, err := p.Command(p.ctx, "resume", "--json", "--in", agent, "--", t.Path)
			var r wire.Resume
			if err == nil {
				err = json.Unmarshal([]byte(out), &r)
			}
			if err != nil {
				return failed(err)
			}
			return p.offer(t, agent, r, notes)
		}
	}})
}

// offer asks what to do with a command that continues a session. notes are the messages of 'treeline resume'.
func (p *program) offer(t look.Target, agent string, r wire.Resume, notes []string) tea.Msg {
	question := strings.Join(append([]string{"To continue in " + agent + ":", r.Command}, notes...), "\n")
	if lost := lostWords(r.Conversion); lost != "" {
		question += "\n" + lost
	}
	left := ""
	if r.Path != t.Path {
		left = "the copy for " + agent + " is kept as a separate session"
	}
	return tea.BatchMsg{look.Send(look.Status{}), look.Send(look.Choose{
		Question: question,
		Options: []look.Option{
			{Name: "copy the command", Note: "also printed when you quit"},
			{Name: "start " + agent, Note: "replaces this program"},
		},
		Left: left,
		Then: func(i int) tea.Cmd {
			if i == 0 {
				return look.Send(look.Copy{Text: r.Command, What: "the resume command"})
			}
			return look.Send(resume{path: r.Path})
		},
	})}
}

// lostWords describes what a conversion lost, in a line or two.
func lostWords(c *wire.Conversion) string {
	if c == nil {
		return ""
	}
	const most = 6
	var kinds []string
	for _, l := range c.Losses {
		if l.Became == convert.Dropped {
			kinds = append(kinds, fmt.Sprintf("%s%s × %d", l.Kind, l.Pointer, l.Count))
		}
	}
	if more := len(kinds) - most; more > 0 {
		kinds = append(kinds[:most], fmt.Sprintf("and %d more", more))
	}
	switch {
	case len(kinds) > 0:
		return "Lost: " + strings.Join(kinds, ", ") + "."
	case c.Carried > 0:
		return fmt.Sprintf("Nothing is lost: what %s cannot express, in %s, is carried along.", c.Target.Dialect, wire.Count(c.Carried, "entry", "entries"))
	}
	return "Nothing is lost."
}

// fileName makes a file name from a session's title.
func fileName(t look.Target) string {
	const longest = 40
	var b strings.Builder
	for _, r := range strings.ToLower(t.Title) {
		switch {
		case b.Len() >= longest:
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return name
	}
	return "session"
}
