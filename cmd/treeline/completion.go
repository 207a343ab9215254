package main

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
)

// completeSession offers, to the shell, the sessions of this directory beside files.
func (a *app) completeSession(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := a.store()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	env, err := a.env()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	rows, err := s.List(cmd.Context(), store.ListOptions{CWD: env.WorkDir})
	if err != nil || len(rows) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	list := []string{"@last\tthe newest of this directory"}
	const most = 50
	for i, r := range rows {
		if i == most {
			break
		}
		if r.OK {
			list = append(list, string(r.ID)+"\t"+screen.OneLine(r.Heading(), 60))
		}
	}
	return list, cobra.ShellCompDirectiveDefault
}

func completeDialect(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return dialectNames(), cobra.ShellCompDirectiveNoFileComp
}

// targetNames lists the dialects that sessions can be converted to.
func targetNames() []string {
	var names []string
	for _, d := range all.Dialects() {
		if _, ok := store.Sessions(d).(dialect.Composer); ok {
			names = append(names, d.Name())
		}
	}
	return names
}

// dialectNames lists the dialects that there are.
func dialectNames() []string {
	var names []string
	for _, d := range all.Dialects() {
		names = append(names, d.Name())
	}
	return names
}
