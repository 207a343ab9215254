package demo

import (
	"math"
	"strings"

	"github.com/treeline-dev/treeline/session"
)

// ledger counts tokens and cost as a provider would, from the length of texts. The prices are roughly those of such models.
type ledger struct {
	model   string
	context int64 // tokens that the model saw last
	fresh   int64 // tokens that it has not seen yet
}

// prompt is the size of what an agent sends before the conversation: instructions and the definitions of tools.
const prompt = 18_000

func tokens(text string) int64 { return int64(len(text)+3) / 4 }

func (l *ledger) hear(text string) { l.fresh += tokens(text) }

// answer returns the usage of an answer.
func (l *ledger) answer(parts []session.Part) session.Usage {
	if l.context == 0 {
		l.fresh += prompt
	}
	var u session.Usage
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			u.Output += tokens(p.Text)
		case session.Thinking:
			u.Output += tokens(p.Text)
		case session.ToolCall:
			u.Output += tokens(p.Name) + tokens(string(p.Arguments)) + 12
		}
	}
	u.Input, u.CacheRead, u.CacheWrite = 4, l.context, l.fresh
	u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	in, out := 3.0, 15.0 // dollars per million tokens
	switch {
	case strings.Contains(l.model, "opus"):
		in, out = 5, 25
	case strings.Contains(l.model, "haiku"):
		in, out = 1, 5
	case strings.HasPrefix(l.model, "gpt"), strings.HasPrefix(l.model, "gemini"):
		in, out = 1.25, 10
	case strings.HasPrefix(l.model, "qwen"), strings.HasPrefix(l.model, "glm"):
		in, out = 0.6, 2.2
	case strings.HasPrefix(l.model, "grok"):
		in, out = 0.2, 1.5
	}
	price := func(n int64, dollars float64) float64 { return math.Round(float64(n)*dollars) / 1e6 }
	u.Costs = session.Costs{
		Input: price(u.Input, in), Output: price(u.Output, out), CacheRead: price(u.CacheRead, in/10), CacheWrite: price(u.CacheWrite, in*1.25),
	}
	u.Cost = math.Round((u.Costs.Input+u.Costs.Output+u.Costs.CacheRead+u.Costs.CacheWrite)*1e6) / 1e6
	l.context, l.fresh = l.context+l.fresh+u.Output, 0
	return u
}

// compact replaces what the model saw by a summary.
func (l *ledger) compact(summary string) { l.context, l.fresh = 0, tokens(summary) }
