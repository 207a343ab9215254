package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// writeStore gives the store of this machine for writing. Which terminal uses which session stays the agents' business.
func (a *app) writeStore() (*store.Store, error) {
	return treeline.New(treeline.Options{Backends: drivers.All(), Home: a.home(), Getenv: a.getenv, NoBreadcrumbs: true})
}

// writeFlags are the flags of commands that write to a session.
// The defaults are those of the library: flush, and a branch of one's own where others wrote.
type writeFlags struct {
	json       bool
	sync       string
	onConflict string
	replace    bool
	rewrites   bool // the command changes more than the end of the log, whatever others add to it
}

func (f *writeFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&f.sync, "sync", "flush", "what is written survives: `LEVEL` none (the end of the process), flush (at the end of the command\na crash of the machine), always (such a crash at any time)")
	cmd.Flags().StringVar(&f.onConflict, "on-conflict", "branch", "when others write at the same time: `POLICY` branch (go on beside them), follow (go on from\nwhat they wrote), refuse (write nothing)")
	_ = cmd.RegisterFlagCompletionFunc("sync", cobra.FixedCompletions(levels, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("on-conflict", cobra.FixedCompletions(policies, cobra.ShellCompDirectiveNoFileComp))
}

func (f *writeFlags) addReplace(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.replace, "replace-unreadable", false, "where the file is no session, begin a fresh one; what it holds is kept beside it")
}

var (
	levels   = []string{string(store.DurabilityNone), string(store.DurabilityFlush), string(store.DurabilityAlways)}
	policies = []string{string(store.PolicyBranch), string(store.PolicyFollow), string(store.PolicyRefuse)}
)

// options reads the flags. What happens to the session besides what was asked for is told on stderr.
func (f *writeFlags) options(a *app, cmd *cobra.Command) (store.WriteOptions, error) {
	if !slices.Contains(levels, f.sync) {
		return store.WriteOptions{}, usageError{fmt.Errorf("--sync %q: it is %s", f.sync, anyOf(levels)), cmd}
	}
	if !slices.Contains(policies, f.onConflict) {
		return store.WriteOptions{}, usageError{fmt.Errorf("--on-conflict %q: it is %s", f.onConflict, anyOf(policies)), cmd}
	}
	policy := store.Policy(f.onConflict)
	outcome := outcomes[policy]
	if f.rewrites {
		outcome = "it is kept"
	}
	return store.WriteOptions{
		Durability: store.Durability(f.sync), Policy: policy, ReplaceUnreadable: f.replace,
		Observer: func(e store.Event) { a.tell(e, outcome) },
	}, nil
}

func anyOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// outcomes say what becomes of an entry when others wrote first. What is refused is an error, which says so itself.
// A command that rewrites has no entry that could go anywhere; see writeFlags.rewrites.
var outcomes = map[store.Policy]string{
	store.PolicyBranch: "what you wrote goes on beside it, as a branch of its own",
	store.PolicyFollow: "what you wrote goes on from there",
}

// tell says what others did to the session, and what had to be done to its file.
func (a *app) tell(e store.Event, outcome string) {
	switch {
	case e.Kind == store.EventForeign && outcome != "":
		fmt.Fprintf(a.stderr, "treeline: %s: others wrote %s meanwhile; %s\n", screen.Clean(e.Path), counted(e.Count, "entry", "entries"), outcome)
	case e.Kind == store.EventRepaired:
		fmt.Fprintf(a.stderr, "treeline: %s\n", screen.Clean(e.Problem.String()))
	}
}

// openWrite opens the session that someone named for writing.
func (a *app) openWrite(ctx context.Context, cmd *cobra.Command, ref string, f writeFlags) (*store.Session, error) {
	opt, err := f.options(a, cmd)
	if err != nil {
		return nil, err
	}
	s, err := a.writeStore()
	if err != nil {
		return nil, err
	}
	path, err := a.locate(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	sess, err := s.OpenWrite(ctx, path, store.CreateOptions{Write: opt})
	return sess, openError(path, err)
}

// changing runs what a command does to a session, and closes it. What was written before an error stays written.
// The error of Close counts where nothing else went wrong: with --sync flush it is Close that syncs.
func (a *app) changing(cmd *cobra.Command, ref string, f writeFlags, change func(ctx context.Context, s *store.Session) error) error {
	s, err := a.openWrite(cmd.Context(), cmd, ref, f)
	if err != nil {
		return err
	}
	err = change(cmd.Context(), s)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return err
}

// sessionJSON is a session that a command made or changed, for programs.
// It is a stable format: leafId is null before the first entry, parentSession absent where there is none.
type sessionJSON struct {
	ID      session.ID       `json:"id"`
	File    string           `json:"file"`
	Dialect string           `json:"dialect"`
	CWD     string           `json:"cwd"`
	Title   string           `json:"title"`
	Parent  string           `json:"parentSession,omitempty"`
	LeafID  *session.EntryID `json:"leafId"`
}

// printSession tells where a session is now: its file for people, all for programs.
func (a *app) printSession(s *store.Session, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(a.stdout, screen.Clean(s.Path()))
		return err
	}
	h := s.Header()
	title, err := s.Name()
	if err != nil {
		return err
	}
	j := sessionJSON{ID: h.ID, File: s.Path(), Dialect: s.Dialect().Name(), CWD: h.CWD, Title: title, Parent: h.Parent}
	if leaf := s.Leaf(); leaf != "" {
		j.LeafID = &leaf
	}
	return writeJSON(a.stdout, j)
}

// appendedJSON acknowledges an entry, for programs.
// It is a stable format: foreign is 0 and outcome absent in the usual case, parentId null for a root.
type appendedJSON struct {
	ID     session.EntryID  `json:"id"`
	Parent *session.EntryID `json:"parentId"`
	// Foreign is how many entries others wrote meanwhile, Outcome what was done about it.
	Foreign int          `json:"foreign"`
	Outcome store.Policy `json:"outcome,omitempty"`
}

// acknowledge tells that an entry is as durable as was asked.
func (a *app) acknowledge(s *store.Session, done store.Appended, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(a.stdout, screen.Clean(string(done.ID)))
		return err
	}
	j := appendedJSON{ID: done.ID, Foreign: done.Foreign, Outcome: done.Outcome}
	if e, ok := s.Tree().Lookup(done.ID); ok && e.Parent != "" {
		j.Parent = &e.Parent
	}
	return writeJSON(a.stdout, j)
}

// entryOf finds the entry that someone named, by its id or the beginning of it.
func entryOf(s *store.Session, ref string) (session.EntryID, error) {
	if ref == "" || ref == "none" {
		return "", fmt.Errorf("%s: an entry is needed, not %q", s.Path(), ref)
	}
	return leafOf(s, ref)
}

// errNothing is for a command that was told nothing to do.
func errNothing(cmd *cobra.Command, what string) error { return usageError{errors.New(what), cmd} }
