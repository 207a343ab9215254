package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
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

// lastAnswer is the value of --llm without one: the agent's own interface, or the provider of the last answer.
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

// rest gives the arguments without the provider: pflag leaves "anthropic" of "--llm anthropic" among them, because the flag
// need not have a value.
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
	only := changed(cmd, "model", "prompt", "max-tokens")
	switch forms := changed(cmd, "llm", "sent", "parts"); {
	case len(forms) > 1:
		return misused("--%s and --%s cannot be combined", forms[0], forms[1])
	case !f.on() && len(only) > 0:
		return misused("--%s needs --llm", only[0])
	case f.on() && f.api != lastAnswer:
		return oneOf("llm", f.api, llm.Names())
	case f.on() && len(given) > 1: // one of them was meant as the provider
		return misused("--llm takes %s, not %q", anyOf(llm.Names()), given[len(given)-1])
	}
	return nil
}

// request prints the body of a request. It is JSON with and without --json.
func (a *app) request(ctx context.Context, s *store.Session, at session.EntryID, opt store.ContextOptions, f *requestFlags, problems *[]session.Problem) error {
	q := treeline.RequestOptions{Model: f.model, Prompt: f.prompt, MaxTokens: f.maxTokens, Context: opt}
	if f.api != lastAnswer {
		q.Provider = f.api
	}
	r, err := treeline.NewRequest(ctx, s, at, q)
	if errors.Is(err, treeline.ErrNoProvider) {
		return misused("%w: use --llm %s", err, anyOf(llm.Names()))
	}
	if err != nil {
		a.problems(*problems) // they may say why there is nothing to send
		return err
	}
	err = a.page(ctx, func(out *output) error { return wire.Write(out, json.RawMessage(r.Body)) })
	a.problems(*problems)
	if r.Model == "" {
		a.notice("the body has no model; name one with --model")
	}
	if r.Answered && r.Provider == llm.Anthropic.Name() {
		a.notice("the last message is the model's, which newer models refuse; add a message of the user with --prompt")
	}
	return err
}
