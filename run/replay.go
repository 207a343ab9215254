package run

import (
	"cmp"
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Events gives the agent.event records in the order in which they are played: by seq, and where two have the same in the
// order of the log. One without a seq stays behind the one before it.
// codelia's own history plays events in the order of the file. The numbers say in which order they were shown.
func (l *Log) Events() []Record {
	type placed struct {
		Record
		at int64
	}
	var list []placed
	// before the first number there is nothing: an event without one at the very beginning stays there
	last := int64(-1)
	for _, r := range l.records {
		if r.Type != TypeAgentEvent {
			continue
		}
		if r.HasSeq {
			last = r.Seq
		}
		list = append(list, placed{r, last})
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	events := make([]Record, len(list))
	for i, p := range list {
		events[i] = p.Record
	}
	return events
}

// EventType gives the type of an agent.event's event.
func EventType(event []byte) string { return rawjson.Str(event, "type") }

// IsCompaction says whether an event tells that the context was compacted, or begins to be.
func IsCompaction(event []byte) bool {
	switch EventType(event) {
	case "compaction_start", "compaction_complete":
		return true
	}
	return false
}

// Exchange is a request to the model and what came of it.
type Exchange struct {
	Seq     int64
	Request Record
	// Response is the model's; Answered is false where there is none.
	Response Record
	Answered bool
}

// Exchanges gives the requests in the order of the log, each with its response: the first one behind it with its seq.
func (l *Log) Exchanges() []Exchange {
	var list []Exchange
	// The same seq may be asked twice, after a retry: the first response goes to the first request that waits.
	waiting := map[int64][]int{}
	for _, r := range l.records {
		switch r.Type {
		case TypeLLMRequest:
			waiting[r.Seq] = append(waiting[r.Seq], len(list))
			list = append(list, Exchange{Seq: r.Seq, Request: r})
		case TypeLLMResponse:
			if at := waiting[r.Seq]; len(at) > 0 {
				list[at[0]].Response, list[at[0]].Answered = r, true
				waiting[r.Seq] = at[1:]
			}
		}
	}
	return list
}

// Messages reads the messages of an exchange: those that were sent, and those that came back (nil where none did).
// The bytes are read from the log each time: whoever wants them twice keeps them.
func (x Exchange) Messages() (sent, received [][]byte, err error) {
	raw, err := x.Request.Raw()
	if err != nil {
		return nil, nil, err
	}
	sent = slices.Collect(rawjson.Elements(rawjson.At(raw, "/input/messages")))
	if !x.Answered {
		return sent, nil, nil
	}
	raw, err = x.Response.Raw()
	if err != nil {
		return nil, nil, err
	}
	return sent, slices.Collect(rawjson.Elements(rawjson.At(raw, "/output/messages"))), nil
}

// Late says from where on the messages of a request are such that were not there yet when it was sent: a program that
// keeps its requests too late writes what was answered, and what followed, into the request itself. It is len(sent) where
// all is well. Only what proves itself counts: an answer with the same tool call, or at the very end.
// With tool calls the ids prove it. Without any, a short answer ("Done.") may have been given before, and only one
// at the very end is taken for this.
func Late(sent, received [][]byte) int {
	if len(received) == 0 {
		return len(sent)
	}
	calls := callIDs(received...)
	for i, m := range sent {
		if rawjson.Str(m, "role") != "assistant" || len(calls) == 0 {
			continue
		}
		for _, id := range callIDs(m) {
			if slices.Contains(calls, id) {
				return i
			}
		}
	}
	from := len(sent) - len(received)
	if len(calls) > 0 || from < 1 {
		return len(sent)
	}
	for i, m := range received {
		if Compare(m, sent[from+i]) != nil {
			return len(sent)
		}
	}
	return from
}

// callIDs gives the ids of the tool calls in messages.
func callIDs(messages ...[]byte) []string {
	var list []string
	for _, m := range messages {
		for call := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
			if id := rawjson.Str(call, "id"); id != "" {
				list = append(list, id)
			}
		}
	}
	return list
}
