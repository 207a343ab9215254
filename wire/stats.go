package wire

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/usage"
)

// Stats is what sessions used. copies counts the logs that were left out because another one has the same id. Lists that
// were not asked for are absent.
type Stats struct {
	Amount
	Copies   int      `json:"copies"`
	Agents   *[]Group `json:"agents,omitempty"`
	Models   *[]Group `json:"models,omitempty"`
	Projects *[]Group `json:"projects,omitempty"`
	Days     *[]Group `json:"days,omitempty"`
}

// Amount is what some sessions used. cost is in dollars, as far as the agents counted it. In a list of models, messages
// counts the answers of the model.
type Amount struct {
	Sessions int     `json:"sessions"`
	Messages int     `json:"messages"`
	Tokens   Tokens  `json:"tokens"`
	Cost     float64 `json:"cost"`
}

// Group is the usage of one agent, model, project or day. name is "" if the sessions do not say which.
type Group struct {
	Name string `json:"name"`
	Amount
}

// NewGroup returns an amount with its name.
func NewGroup(name string, a usage.Amount) Group { return Group{Name: name, Amount: newAmount(a)} }

func newAmount(a usage.Amount) Amount {
	return Amount{Sessions: a.Sessions, Messages: a.Messages, Tokens: Tokens(a.Tokens), Cost: a.Cost}
}

// NewStats returns a report with the lists that it has.
func NewStats(r usage.Report) Stats {
	list := func(key usage.Key) *[]Group {
		groups, ok := r.Groups[key]
		if !ok {
			return nil
		}
		out := make([]Group, len(groups))
		for i, g := range groups {
			out[i] = NewGroup(g.Name, g.Amount)
		}
		return &out
	}
	return Stats{
		Amount: newAmount(r.Total), Copies: r.Copies,
		Agents: list(usage.Agent), Models: list(usage.Model), Projects: list(usage.Project), Days: list(usage.Day),
	}
}

// Measure returns what bars compare groups by: the cost or, if no agent recorded any, the tokens or else the messages.
func Measure(groups []usage.Group) (name string, measure func(*usage.Amount) float64) {
	cost := func(m *usage.Amount) float64 { return m.Cost }
	tokens := func(m *usage.Amount) float64 { return float64(m.Tokens.Total) }
	some := func(measure func(*usage.Amount) float64) bool {
		return slices.ContainsFunc(groups, func(g usage.Group) bool { return measure(&g.Amount) > 0 })
	}
	switch {
	case some(cost):
		return "cost", cost
	case some(tokens):
		return "tokens", tokens
	}
	return "messages", func(m *usage.Amount) float64 { return float64(m.Messages) }
}

// Bar draws a bar for n, in steps of an eighth of a column. The bar for most has the full number of columns; one above zero has at least an
// eighth.
func Bar(n, most float64, columns int) string {
	if n <= 0 || most <= 0 {
		return ""
	}
	eighths := max(1, int(n/most*float64(columns)*8+0.5))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}
