package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// GroupOnly makes cmd a command that only has subcommands. If one is unknown, that is the error to report, not the flags after it.
func GroupOnly(cmd *cobra.Command) {
	unknown := func(word string) error {
		name := strings.TrimPrefix(cmd.CommandPath()+" "+word, "treeline ")
		return Misused("unknown command %q%s", name, Suggestion(cmd, word))
	}
	cmd.Args = cobra.ArbitraryArgs // without it cobra reports an unknown command itself, with exit code 1
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknown(args[0])
	}
	cmd.SetFlagErrorFunc(func(at *cobra.Command, err error) error {
		if words := at.Flags().Args(); at == cmd && len(words) > 0 {
			return unknown(words[0])
		}
		return Misused("%w", FlagError(at, err))
	})
}

// Suggestion returns the command that a word may mean: one with a similar meaning or spelling.
func Suggestion(cmd *cobra.Command, word string) string {
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, strings.ToLower(word)) {
			return fmt.Sprintf("; did you mean %q?", c.Name())
		}
	}
	if list := cmd.SuggestionsFor(word); len(list) > 0 {
		return fmt.Sprintf("; did you mean %q?", list[0])
	}
	return ""
}
