package run

import (
	"cmp"
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// Events returns the agent.event records in the order in which they were shown: by seq, then in log order. An event without a
// seq stays after the one before it.
func (l *Log) Events() []Record {
	type placed struct {
		Record
		at int64
	}
	var list []placed
	// an event without a seq at the very beginning stays there
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
	sorting.By(list, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	events := make([]Record, len(list))
	for i, p := range list {
		events[i] = p.Record
	}
	return events
}

// EventType returns the type of an agent.event's event.
func EventType(event []byte) string { return rawjson.Str(event, "type") }

// IsCompaction reports whether an event says that the context was compacted, or begins to be.
func IsCompaction(event []byte) bool {
	t := EventType(event)
	return t == "compaction_start" || t == "compaction_complete"
}

// Exchange is a request to the model and its response.
type Exchange struct {
	Seq     int64
	Request Record
	// Answered is false if there is no response.
	Response Record
	Answered bool
}

// Exchanges returns the requests in log order, each with the first response after it that has its seq.
func (l *Log) Exchanges() []Exchange {
	var list []Exchange
	// A retry may repeat a seq: the first response goes to the first request that waits.
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

// Messages reads the messages of an exchange: those that were sent, and those that came back, or nil.
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

// Late returns the index of the first message in a request that did not exist when it was sent: a program that records requests
// too late writes the answer, and what followed, into the request itself. It is len(sent) for a good request. Only
// certain cases count: an answer with the same tool call, or an answer without calls at the very end. A short answer such
// as "Done." may have been given before.
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

// callIDs returns the ids of the tool calls in messages.
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
