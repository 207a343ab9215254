package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Levels are the values of --sync, Policies those of --on-conflict.
var (
	Levels   = Words([]store.Durability{store.DurabilityNone, store.DurabilityFlush, store.DurabilityAlways})
	Policies = Words([]store.Policy{store.PolicyBranch, store.PolicyFollow, store.PolicyRefuse})
)

// DurableFlags are --sync and --on-conflict. The defaults are those of the library.
type DurableFlags struct{ sync, onConflict string }

// Add adds the flags.
func (f *DurableFlags) Add(cmd *cobra.Command) {
	AddSync(cmd, &f.sync)
	cmd.Flags().StringVar(&f.onConflict, "on-conflict", "branch", "`POLICY` if another program writes at the same time: branch (continue next to its entries), follow\n(continue after them) or refuse (write nothing)")
}

// AddSync adds --sync.
func AddSync(cmd *cobra.Command, sync *string) {
	cmd.Flags().StringVar(sync, "sync", "flush", "durability `LEVEL`: writes survive the end of the process (none), a machine crash after the command\n(flush) or a machine crash at any time (always)")
}

// Options checks the flags.
func (f *DurableFlags) Options() (store.WriteOptions, error) {
	err := OneOf("sync", f.sync, Levels)
	if err == nil {
		err = OneOf("on-conflict", f.onConflict, Policies)
	}
	return store.WriteOptions{Durability: store.Durability(f.sync), Policy: store.Policy(f.onConflict)}, err
}

// WriteFlags are the flags of commands that write to a session.
type WriteFlags struct {
	DurableFlags
	replace   bool
	Force     bool
	unchecked bool // input that looks like a mistake is written
	Rewrites  bool // the command changes more than the end of the log
}

// Add adds the flags, and --json.
func (f *WriteFlags) Add(a *App, cmd *cobra.Command) {
	a.AddJSON(cmd)
	f.DurableFlags.Add(cmd)
}

// AddReplace adds --replace-unreadable.
func (f *WriteFlags) AddReplace(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.replace, "replace-unreadable", false, "if the file is not a session, start a new one there and keep the old file next to it")
}

// AddUnchecked adds --force for what is refused because it looks like a mistake.
func (f *WriteFlags) AddUnchecked(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.unchecked, "force", false, "write "+what)
}

// AddForce adds --force for what another program may have open.
func AddForce(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "proceed even if another program has the file open; what that program writes later is lost")
}

// outcomes describe what happens to an entry if another program wrote first. A refusal is an error of its own.
var outcomes = map[store.Policy]string{
	store.PolicyBranch: "your entries form a branch of their own",
	store.PolicyFollow: "your entries continue from there",
}

// Options checks the flags. Other events of the session are printed on stderr.
func (f *WriteFlags) Options(a *App) (store.WriteOptions, error) {
	opt, err := f.DurableFlags.Options()
	opt.ReplaceUnreadable, opt.ForceRewrite, opt.Force = f.replace, f.Force, f.unchecked || f.Force
	opt.Observer = func(e store.Event) {
		outcome := "they are kept"
		if e.Outcome != "" && !f.Rewrites {
			outcome = outcomes[e.Outcome]
		}
		a.Tell(e, outcome)
	}
	return opt, err
}

// Tell prints what other programs did to the session, and what was repaired in its file.
func (a *App) Tell(e store.Event, outcome string) {
	switch {
	case e.Kind == store.EventForeign && outcome != "":
		a.Notice(fmt.Sprintf("%s: other programs wrote %s meanwhile; %s", e.Path, wire.Count(e.Count, "entry", "entries"), outcome))
	case e.Kind == store.EventRepaired || e.Kind == store.EventHeld:
		a.Report(wire.Message{Problem: e.Problem}, e.Problem.String())
	}
}

// PrintSession prints where a session is.
func (a *App) PrintSession(s *store.Session) error {
	if !a.JSON {
		return a.Say(nil, s.Path())
	}
	j, err := wire.NewSession(s)
	if err != nil {
		return err
	}
	return a.Say(j, "")
}
