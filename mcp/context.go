package mcp

import (
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

type contextArgs struct {
	sessionArgs
	From      string `json:"from" one:"start end" doc:"where to begin: start (the default), or end for the last messages"`
	TextBytes int    `json:"textBytes" doc:"maximum text of each message in bytes; default 4000"`
	sizeArgs
}

// shownMessage is a message whose text may be cut. cut is the number of bytes that are omitted.
type shownMessage struct {
	wire.PartsMessage
	Cut int `json:"cut,omitempty"`
}

// contextWindow is a part of what the model sees at an entry, in order. first is the number of the first message, from 0. tokens is an
// estimate for all messages.
type contextWindow struct {
	About    string          `json:"about"`
	Session  session.ID      `json:"session"`
	Leaf     session.EntryID `json:"leaf"`
	URI      string          `json:"uri"`
	First    int             `json:"first"`
	Total    int             `json:"total"`
	Tokens   int64           `json:"estimatedTokens"`
	Messages []shownMessage  `json:"messages"`
	Previous *string         `json:"previous"`
	Next     *string         `json:"next"`
	Problems []string        `json:"problems"`
}

// getContext returns the messages that the agent would send at an entry.
func getContext(c *call, a contextArgs) (result contextWindow, err error) {
	space, err := a.room()
	if err != nil {
		return result, err
	}
	if a.TextBytes, err = textBytes(a.TextBytes, 4000); err != nil {
		return result, err
	}
	s, entry, err := c.open(a.sessionArgs)
	if err != nil {
		return result, err
	}
	defer s.Close()
	at, err := begin(a.Cursor, digest("context", string(s.ID()), string(entry), a.From))
	if err != nil {
		return result, err
	}
	leaf := entry
	switch {
	case a.Cursor != "":
		leaf = session.EntryID(at.Leaf)
	case leaf == "":
		leaf = s.Leaf()
	}
	finder, err := c.scrubber(s)
	if err != nil {
		return result, err
	}
	problems := append([]session.Problem{}, s.Tree().Problems()...)
	opt := treeline.ContextOptions{Problem: func(p session.Problem) { problems = append(problems, p) }}
	var all []treeline.Message
	for m, err := range treeline.Messages(c.ctx, s, leaf, opt) {
		if err != nil {
			return result, err
		}
		all = append(all, m)
		result.Tokens += session.Estimate(m.Parts)
	}
	f := filler[shownMessage]{room: space, n: len(all), most: a.TextBytes, make: func(i int) (func(int) shownMessage, error) {
		m := wire.NewPartsMessage(all[i])
		scrubParts(finder, m.Parts)
		return func(most int) shownMessage {
			list, _, left := window(m.Parts, 0, most)
			return shownMessage{wire.PartsMessage{Role: name(m.Role), Parts: list}, left}
		}, nil
	}}
	from, to := at.N, at.N
	if a.Cursor == "" && a.From == "end" {
		from, to, at.Back = f.n, f.n, true
	}
	if at.Back {
		result.Messages, from, err = f.backward(to)
	} else {
		result.Messages, to, err = f.forward(from)
	}
	result.About, result.Session, result.Leaf = about, name(s.ID()), name(leaf)
	result.URI = uri{session: string(result.Session), context: true}.String()
	result.First, result.Total, result.Problems = from, f.n, c.problems(problems)
	if from > 0 {
		result.Previous = position{Of: at.Of, Leaf: string(leaf), N: from, Back: true}.cursor()
	}
	if to < f.n {
		result.Next = position{Of: at.Of, Leaf: string(leaf), N: to}.cursor()
	}
	return result, err
}
