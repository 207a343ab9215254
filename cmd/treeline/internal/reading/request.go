package reading

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/llm"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// requestFlags are the flags of a request to a language model.
type requestFlags struct {
	api, model, prompt string
	maxTokens          int
}

// lastAnswer is the value of --llm without a value: the interface of the agent, or the provider of the last answer.
const lastAnswer = "auto"

func (f *requestFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.api, "llm", "", "print the body of a request to `PROVIDER`: anthropic, openai or responses (default: as the agent does)")
	cmd.Flags().Lookup("llm").NoOptDefVal = lastAnswer
	cmd.Flags().StringVar(&f.model, "model", "", "with --llm: ask the model `NAME` (default: that of the last answer)")
	cmd.Flags().StringVar(&f.prompt, "prompt", "", "with --llm: the user says `TEXT` next")
	cmd.Flags().IntVar(&f.maxTokens, "max-tokens", 0, "with --llm: limit the answer to `N` tokens, for a provider that requires a limit (default 8192)")
}

// on reports whether a request is wanted.
func (f *requestFlags) on() bool { return f.api != "" }

// rest returns the arguments without the provider: the flag's value is optional, so pflag leaves "anthropic" of "--llm anthropic" among the
// arguments.
func (f *requestFlags) rest(given []string) []string {
	i := slices.IndexFunc(given, func(word string) bool { return slices.Contains(llm.Names(), word) })
	if f.api != lastAnswer || i < 0 {
		return given
	}
	f.api = given[i]
	return slices.Delete(slices.Clone(given), i, i+1)
}

// check refuses flags that have no effect, and unknown providers.
func (f *requestFlags) check(cmd *cobra.Command, given []string) error {
	only := cli.Changed(cmd, "model", "prompt", "max-tokens")
	if err := cmp.Or(cli.CheckText("--model", f.model), cli.CheckText("--prompt", f.prompt)); err != nil {
		return err
	}
	switch forms := cli.Changed(cmd, "llm", "sent", "parts"); {
	case len(forms) > 1:
		return cli.Misused("--%s and --%s cannot be combined", forms[0], forms[1])
	case !f.on() && len(only) > 0:
		return cli.Misused("--%s needs --llm", only[0])
	case f.maxTokens < 1 && cmd.Flags().Changed("max-tokens"):
		return cli.Misused("--max-tokens must be positive")
	case f.on() && f.api != lastAnswer:
		return cli.OneOf("llm", f.api, llm.Names())
	case f.on() && len(given) > 1: // one of them was meant to be the provider
		return cli.Misused("--llm takes %s, not %q", cli.AnyOf(llm.Names()), given[len(given)-1])
	}
	return nil
}

// request prints the body of a request. It is JSON even without --json.
func request(ctx context.Context, a *cli.App, s *store.Session, at session.EntryID, opt store.ContextOptions, f *requestFlags, problems *[]session.Problem) error {
	q := treeline.RequestOptions{Model: f.model, Prompt: f.prompt, MaxTokens: f.maxTokens, Context: opt}
	if f.api != lastAnswer {
		q.Provider = f.api
	}
	r, err := treeline.NewRequest(ctx, s, at, q)
	if errors.Is(err, treeline.ErrNoProvider) {
		return cli.Misused("%w: use --llm %s", err, cli.AnyOf(llm.Names()))
	}
	if err != nil {
		a.Problems(*problems) // they may say why there is nothing to send
		return err
	}
	err = a.Page(ctx, func(out *console.Output) error { return wire.Write(out, json.RawMessage(r.Body)) })
	a.Problems(*problems)
	if r.Model == "" {
		a.Notice("the body has no model; name one with --model")
	}
	if r.Answered && r.Provider == llm.Anthropic.Name() {
		a.Notice("the last message is the model's, which newer models refuse; add a message of the user with --prompt")
	}
	return err
}
