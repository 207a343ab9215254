package reading

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Context answers the question that comes up when a model behaves oddly: what did it see? The context follows
// the rules of the session's agent, or of --dialect.
func Context(a *cli.App) *cobra.Command {
	var (
		f   cli.LeafFlags
		cwd string
		opt store.ContextOptions
		q   requestFlags
		// parts selects the form that is the same for all agents
		parts bool
	)
	cmd := &cobra.Command{
		Use:        "context [<session>]",
		SuggestFor: []string{"prompt"},
		Short:      "Show what the model would see",
		Long: "Show the messages that the agent would send to the model at an entry, with the thinking level, models and mode in\n" +
			"effect there. Messages are printed byte for byte as they are in the session. codelia also tells the model when a\n" +
			"session continues in another directory; see --cwd. The number of tokens is an estimate without the system prompt and\n" +
			"the tools: four Latin characters count as one token, a character of a script without spaces as one, an image as 1,200.\n\n" +
			"--llm prints a request body instead, as JSON that the provider accepts: what it would refuse is left out. --parts\n" +
			"prints JSON of the same shape for every agent: messages with a role and parts, as in 'show --json'." + cli.SessionHelp + cli.LastHelp + cli.EntryHelp,
		Example: "  treeline context @last\n  treeline context session.jsonl --leaf 446c3b98 --json | jq '.messages | length'\n" +
			"  treeline context @last --llm anthropic --prompt 'Go on.'\n  treeline context @last --parts | jq -r '.messages[].parts[] | select(.type == \"toolCall\").name'",
		Args: cobra.ArbitraryArgs, // one of them may be the value of --llm
		RunE: func(cmd *cobra.Command, given []string) error {
			given = q.rest(given)
			if err := cmp.Or(q.check(cmd, given), cli.Args("[<session>]")(cmd, given)); err != nil {
				return err
			}
			return a.Viewing(cmd.Context(), cli.SessionArg(given), &f, func(s *store.Session, at session.EntryID) error {
				dir, err := filepath.Abs(cwd)
				if err != nil {
					return err
				}
				opt.Here = &dialect.Here{WorkDir: dir}
				problems := slices.Clone(s.Tree().Problems()) // the tree's own list must not grow
				opt.Problem = func(p session.Problem) {
					if p.Kind == session.ProblemCut {
						p.Advice += "; --whole restores it"
					}
					problems = append(problems, p)
				}
				if q.on() {
					return request(cmd.Context(), a, s, at, opt, &q, &problems)
				}
				if parts {
					err = a.Page(cmd.Context(), func(out *console.Output) error {
						return wire.WriteParts(out.JSON(), treeline.Messages(cmd.Context(), s, at, opt), &problems)
					})
					a.Problems(problems)
					return err
				}
				opt.NoBlobs = opt.NoBlobs || !a.JSON // a transcript shows only the names of images
				c, err := s.Context(cmd.Context(), at, opt)
				if err != nil {
					return err
				}
				r := wire.NewReader(cmd.Context(), s)
				err = a.Page(cmd.Context(), func(out *console.Output) error {
					if a.JSON {
						return wire.WriteContext(out.JSON(), c, s.MessageParts, &problems)
					}
					t := &wire.Transcript{Page: out.Page(), Dir: s.Header().CWD}
					t.Shorten(s.Tree())
					return t.Context(cmd.Context(), r, c)
				})
				a.Problems(append(problems, r.Problems...))
				return err
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	cmd.Flags().StringVar(&cwd, "cwd", ".", "assume that the session continues in the directory `DIR`")
	cmd.Flags().BoolVar(&opt.LLM, "sent", false, "print the messages in the form the agent sends them")
	cmd.Flags().BoolVar(&parts, "parts", false, "print JSON with parts of the same shape for every agent")
	q.add(cmd)
	cmd.Flags().BoolVar(&opt.DropFailed, "drop-failed", false, "leave out turns that failed or were aborted")
	cmd.Flags().BoolVar(&opt.StripDangling, "strip-dangling", false, "leave out tool calls without a result")
	cmd.Flags().BoolVar(&opt.Whole, "whole", false, "restore long texts that the agent's format cut; the agent does not send them")
	cmd.Flags().BoolVar(&opt.NoBlobs, "no-blobs", false, "do not replace blob references with their content")
	return cmd
}
