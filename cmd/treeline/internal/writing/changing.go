package writing

import (
	"context"

	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// changing opens a session for writing, calls change, and closes it. What was written before an error stays written.
func changing(ctx context.Context, a *cli.App, ref string, f *cli.WriteFlags, change func(s *store.Session) error) error {
	opt, err := f.Options(a)
	if err != nil {
		return err
	}
	st, path, err := a.Target(ctx, ref)
	if err != nil {
		return err
	}
	s, err := st.OpenWrite(ctx, path, store.CreateOptions{Write: opt})
	if err != nil {
		return cli.OpenError(path, err)
	}
	err = change(s)
	if closeErr := s.Close(); err == nil {
		err = closeErr // with --sync flush, Close syncs
	}
	return err
}

// acknowledge prints the id of an entry once it is as durable as --sync requires.
func acknowledge(a *cli.App, s *store.Session, done store.Appended) error {
	if !a.JSON {
		return a.Say(nil, string(done.ID))
	}
	return a.Say(wire.NewAppended(s, done), "")
}

// pairHelp is cli.EntryHelp for commands that take a session and an entry.
const pairHelp = "\n<session>#<entry>, as 'treeline search' prints it, stands for <session> <entry>."

// entryArgs replaces session#entry by the two arguments that it stands for.
func entryArgs(given []string) []string {
	if len(given) == 0 {
		return given
	}
	if name, entry := cli.SplitEntry(given[0]); entry != "" {
		return append([]string{name, entry}, given[1:]...)
	}
	return given
}
