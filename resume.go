package treeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// ResumeOptions say where a session is continued.
type ResumeOptions struct {
	// In is the dialect of the agent that continues it; nil for its own. A session of another agent is converted first.
	In dialect.Dialect
	// Leaf, if set, is the entry to continue from.
	Leaf *session.EntryID
	// Ready, if set, checks whether the agent's program can be started, before anything is written.
	Ready func(program string) error
	// Write says how the leaf, or the new session, is written.
	Write WriteOptions
}

// ResumeCommand is the command that continues a session in an agent.
type ResumeCommand struct {
	dialect.Launch
	// Dir is the working directory to start it in. It is "" if the session names none; a directory that does not exist, or is a file now, is
	// in Gone instead.
	Dir, Gone string
	// ID, Path and Dialect are those of the session that the command continues, Leaf is the entry that it continues from.
	ID      session.ID
	Path    string
	Dialect dialect.Dialect
	Leaf    session.EntryID
	// From is the path of the original session if the command continues a new one, because the agent is another one or cannot
	// continue from the leaf otherwise; "" if it continues the session itself.
	From string
	// Report says what became of everything in a session that was converted; nil if none was.
	Report *ConvertReport
	// Holders are the programs that have the session open for writing: one of them may be the agent itself.
	Holders []string
	// Problems say what the log has but the session's own program does not show the model.
	Problems []session.Problem
}

// ResumeCommand returns the command that continues a session. If ResumeOptions.Leaf and In are not set, nothing is written. A leaf
// other than the session's own is made durable in a way that the agent honours; if there is none, the path to it becomes a
// new session. In another agent the session is a new one, which names src as its origin; src is then only read.
//
// A session that its own program refuses (session.ProblemRefused) is refused here, too, before anything is written.
func (s *Store) ResumeCommand(ctx context.Context, src *Session, opt ResumeOptions) (c ResumeCommand, err error) {
	to, err := s.resumesIn(ctx, src, opt.In)
	if err != nil {
		return ResumeCommand{}, err
	}
	program := to.(dialect.Launcher) // resumesIn returns only dialects that are Launchers
	unseen, err := unseenAt(ctx, src, opt.Leaf)
	if err != nil {
		return ResumeCommand{}, err
	}
	for _, p := range unseen {
		if p.Kind == session.ProblemRefused && to == src.Dialect() {
			return ResumeCommand{}, fmt.Errorf("%s:%d: resuming it is %w: %s; %s", p.File, p.Line, dialect.ErrUnsupported, p.Message, p.Advice)
		}
	}
	if c, err = s.resume(ctx, program, to, src, opt); err == nil {
		c.Problems = unseen
	}
	return c, err
}

// resume gives the command of an agent whose sessions are of the dialect to.
func (s *Store) resume(ctx context.Context, program dialect.Launcher, to dialect.Dialect, src *Session, opt ResumeOptions) (c ResumeCommand, err error) {
	if opt.Ready != nil {
		if err := opt.Ready(program.Program()); err != nil {
			return ResumeCommand{}, err
		}
	}
	switch {
	case to != src.Dialect():
		into := ConvertOptions{To: to, Leaf: opt.Leaf, Write: opt.Write}
		dst, report, err := s.ConvertSession(ctx, src, into)
		if errors.Is(err, backend.ErrExist) { // there is a copy of it already, or it is a copy of a session there
			into.Fresh = true
			dst, report, err = s.ConvertSession(ctx, src, into)
		}
		if err != nil {
			return ResumeCommand{}, err
		}
		c, err := s.launch(ctx, program, dst)
		if err != nil {
			return c, errors.Join(fmt.Errorf("%w; the new session was removed again", err), dst.Delete(context.WithoutCancel(ctx)))
		}
		c.From, c.Report = report.Source.File, &report
		return c, dst.Close()
	case opt.Leaf != nil && !isAt(src, *opt.Leaf):
		return s.resumeAt(ctx, program, src, *opt.Leaf, opt)
	}
	if c, err = s.launch(ctx, program, src); err != nil {
		return c, err
	}
	c.Holders, err = s.holders(ctx, c.Path)
	return c, err
}

// unseenAt says what the program does not show the model at an entry. If at is nil, the entry is the leaf.
func unseenAt(ctx context.Context, s *Session, at *session.EntryID) ([]session.Problem, error) {
	leaf := s.Leaf()
	if at != nil {
		leaf = *at
	}
	var list []session.Problem
	_, err := s.Context(ctx, leaf, ContextOptions{NoBlobs: true, Problem: func(p session.Problem) { list = append(list, p) }})
	return list, err
}

// isAt reports whether a session continues from an entry: it is the leaf, or only entries that the model does not see follow it.
func isAt(s *Session, leaf session.EntryID) (at bool) {
	err := s.View(func(t *session.Tree) error {
		path, err := t.Path(t.LeafID())
		if err != nil {
			return err
		}
		i := path.Len() - 1
		for i >= 0 && path.At(i).ID != leaf && path.At(i).Kind == session.KindCustom {
			i--
		}
		at = i >= 0 && path.At(i).ID == leaf
		return nil
	})
	return at && err == nil
}

// holders names the programs that have a session open for writing.
func (s *Store) holders(ctx context.Context, path string) ([]string, error) {
	at, err := s.Locate(path)
	if err != nil {
		return nil, err
	}
	return backend.Holders(ctx, at.Backend, at.Name)
}

// resumesIn gives the dialect of the session that the agent will continue: the session's own if the agent's program takes the session
// unchanged. If in is nil, the agent is the session's own. Nothing is written, so that a refusal leaves nothing behind.
func (s *Store) resumesIn(ctx context.Context, src *Session, in dialect.Dialect) (dialect.Dialect, error) {
	if src.Path() == "" {
		return nil, fmt.Errorf("resuming a session in memory is %w", dialect.ErrUnsupported)
	}
	own, isOwn := src.Dialect().(dialect.Launcher)
	to := src.Dialect()
	if in != nil {
		to = place.Sessions(in)
	}
	program, ok := to.(dialect.Launcher)
	if in == nil && place.IsRuns(to) {
		return nil, fmt.Errorf("%s: resuming a run of %s is %w; resume the session of the run", src.Path(), to.Name(), dialect.ErrUnsupported)
	}
	if !ok {
		return nil, fmt.Errorf("%s: resuming a log of %s is %w: no program of today continues one", src.Path(), to.Name(), dialect.ErrUnsupported)
	}
	if !isOwn || own.Program() != program.Program() {
		return to, nil
	}
	_, err := s.launch(ctx, own, src)
	if err != nil && to != src.Dialect() {
		return to, nil
	}
	return src.Dialect(), err
}

// resumeAt is resume with an entry that it first makes the leaf.
func (s *Store) resumeAt(ctx context.Context, program dialect.Launcher, src *Session, leaf session.EntryID, opt ResumeOptions) (c ResumeCommand, err error) {
	w, err := s.OpenWrite(ctx, src.Path(), CreateOptions{Dialect: src.Dialect(), Write: opt.Write})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	_, err = w.Branch(ctx, leaf, BranchOptions{Durable: true})
	if errors.Is(err, dialect.ErrUnsupported) {
		err = w.BranchedSession(ctx, leaf) // w then is the copy
	}
	if err != nil {
		return c, err
	}
	if c, err = s.launch(ctx, program, w); err != nil {
		return c, err
	}
	if from, _ := place.Abs(src.Path()); c.Path != from {
		c.From = from
		return c, nil
	}
	c.Holders, err = s.holders(ctx, c.Path)
	return c, err
}

// launch returns the command for a session as it is.
func (s *Store) launch(ctx context.Context, program dialect.Launcher, of *Session) (c ResumeCommand, err error) {
	c = ResumeCommand{ID: of.ID(), Path: of.Path(), Dialect: of.Dialect(), Leaf: of.Leaf(), Dir: of.Header().CWD}
	if c.Path, err = place.Abs(c.Path); err != nil {
		return c, err
	}
	root := s.agentRoot(c.Dialect, c.Path)
	c.Launch, err = program.Launch(dialect.Launched{ID: c.ID, Path: c.Path, Root: root, Env: s.Env(), Names: s.names(ctx, root)})
	if err != nil {
		return c, fmt.Errorf("%s: %w", c.Path, err)
	}
	if name := c.Args[len(c.Args)-1]; strings.HasPrefix(name, "-") {
		return c, fmt.Errorf("%s: resuming it is %w: %s would take its name %q for an option", c.Path, dialect.ErrUnsupported, program.Program(), name)
	}
	if look := s.Env().Access; c.Dir != "" && look != nil {
		exists, _, _ := look(c.Dir)
		if info, err := os.Stat(c.Dir); !exists || err == nil && !info.IsDir() {
			c.Dir, c.Gone = "", c.Dir
		}
	}
	if c.Bound && c.Dir == "" {
		return c, fmt.Errorf("%s: resuming it is %w: %s finds it only in its working directory %q, which does not exist", c.Path, dialect.ErrUnsupported, program.Program(), c.Gone)
	}
	return c, nil
}

// names lists the logs in a place. Folders that cannot be read are left out: the agent cannot read them either.
func (s *Store) names(ctx context.Context, root dialect.Root) iter.Seq[string] {
	return func(yield func(string) bool) {
		if root.Sessions == "" {
			return
		}
		b, err := s.Machine.Open(root.Sessions)
		if err != nil {
			return
		}
		for log, err := range b.List(ctx, "") {
			if err == nil && !yield(log.Name) {
				return
			}
		}
	}
}

// agentRoot returns the agent's place that a log lies in: one of the agent's own, or one from the settings with the same layout; the
// zero Root if there is none.
func (s *Store) agentRoot(d dialect.Dialect, path string) dialect.Root {
	if root, ok := s.RootOf(d, path); ok {
		return root
	}
	for _, src := range s.Sources() {
		for _, dir := range []string{src.Root.Sessions, place.Dir(src.Root.Sessions)} { // the folder of the agent, or of its sessions
			if root := d.Layout().RootAt(dir); place.Within(src.Root.Sessions, path) && place.Within(root.Sessions, path) {
				return root
			}
		}
	}
	return dialect.Root{}
}
