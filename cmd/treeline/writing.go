package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

var (
	levels   = []string{string(store.DurabilityNone), string(store.DurabilityFlush), string(store.DurabilityAlways)}
	policies = []string{string(store.PolicyBranch), string(store.PolicyFollow), string(store.PolicyRefuse)}
)

// durableFlags are --sync and --on-conflict. The defaults are those of the library.
type durableFlags struct{ sync, onConflict string }

func (f *durableFlags) add(cmd *cobra.Command) {
	addSync(cmd, &f.sync)
	cmd.Flags().StringVar(&f.onConflict, "on-conflict", "branch", "`POLICY` if another program writes at the same time: branch (continue next to its entries), follow\n(continue after them) or refuse (write nothing)")
}

func addSync(cmd *cobra.Command, sync *string) {
	cmd.Flags().StringVar(sync, "sync", "flush", "durability `LEVEL`: writes survive the end of the process (none), a machine crash after the command\n(flush) or a machine crash at any time (always)")
}

// options checks the flags.
func (f *durableFlags) options() (store.WriteOptions, error) {
	err := oneOf("sync", f.sync, levels)
	if err == nil {
		err = oneOf("on-conflict", f.onConflict, policies)
	}
	return store.WriteOptions{Durability: store.Durability(f.sync), Policy: store.Policy(f.onConflict)}, err
}

// writeFlags are the flags of commands that write to a session.
type writeFlags struct {
	durableFlags
	replace   bool
	force     bool
	unchecked bool // what looks like a mistake is written
	rewrites  bool // the command changes more than the end of the log
}

func (f *writeFlags) add(a *app, cmd *cobra.Command) {
	a.addJSON(cmd)
	f.durableFlags.add(cmd)
}

func (f *writeFlags) addReplace(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.replace, "replace-unreadable", false, "if the file is not a session, start a new one there and keep the old file next to it")
}

// addUnchecked adds --force for what is refused because it looks like a mistake.
func (f *writeFlags) addUnchecked(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.unchecked, "force", false, "write "+what)
}

func addForce(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "proceed even if another program has the file open; what that program writes later is lost")
}

// outcomes say what happens to an entry when another program wrote first. A refusal is an error of its own.
var outcomes = map[store.Policy]string{
	store.PolicyBranch: "your entries form a branch of their own",
	store.PolicyFollow: "your entries continue from there",
}

// options checks the flags. What else happens to the session is printed on stderr.
func (f *writeFlags) options(a *app) (store.WriteOptions, error) {
	opt, err := f.durableFlags.options()
	outcome := outcomes[opt.Policy]
	if f.rewrites {
		outcome = "they are kept"
	}
	opt.ReplaceUnreadable, opt.ForceRewrite, opt.Force = f.replace, f.force, f.unchecked || f.force
	opt.Observer = func(e store.Event) { a.tell(e, outcome) }
	return opt, err
}

// tell prints what other programs did to the session, and what was repaired in its file.
func (a *app) tell(e store.Event, outcome string) {
	switch {
	case e.Kind == store.EventForeign && outcome != "":
		a.notice(fmt.Sprintf("%s: other programs wrote %s meanwhile; %s", e.Path, wire.Count(e.Count, "entry", "entries"), outcome))
	case e.Kind == store.EventRepaired || e.Kind == store.EventHeld:
		a.report(wire.Message{Problem: e.Problem}, e.Problem.String())
	}
}

// changing opens a session for writing, calls change, and closes it. What was written before an error stays written.
func (a *app) changing(ctx context.Context, ref string, f *writeFlags, change func(s *store.Session) error) error {
	opt, err := f.options(a)
	if err != nil {
		return err
	}
	st, path, err := a.target(ctx, ref)
	if err != nil {
		return err
	}
	s, err := st.OpenWrite(ctx, path, store.CreateOptions{Write: opt})
	if err != nil {
		return openError(path, err)
	}
	err = change(s)
	if closeErr := s.Close(); err == nil {
		err = closeErr // with --sync flush, Close syncs
	}
	return err
}

// printSession prints where a session is now.
func (a *app) printSession(s *store.Session) error {
	if !a.json {
		return a.say(nil, s.Path())
	}
	j, err := wire.NewSession(s)
	if err != nil {
		return err
	}
	return a.say(j, "")
}

// acknowledge prints the id of an entry once it is as durable as --sync asks.
func (a *app) acknowledge(s *store.Session, done store.Appended) error {
	if !a.json {
		return a.say(nil, string(done.ID))
	}
	return a.say(wire.NewAppended(s, done), "")
}
