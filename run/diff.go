package run

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// Step is one thing that both runs or only one of them did. The members are a stable JSON format.
type Step struct {
	// Name is "input", "request 1", "response 1", "tool call 1.1", "tool output 1.1", "tool output 1 without a call", "error" or
	// "outcome".
	Name string `json:"step"`
	// LineA and LineB say where the step is in each log. A line is 0 if the run has no such step.
	LineA int `json:"lineA"`
	LineB int `json:"lineB"`
	// Difference is nil if both did the same.
	Difference *Difference `json:"difference"`
}

// Diff compares two runs step by step: the input, each request, response, tool call and output, and the end. Ids of runs and
// tool calls, times and numbers of requests do not count. It continues after a difference.
func Diff(a, b *Log) ([]Step, error) {
	x, err := steps(a)
	if err != nil {
		return nil, err
	}
	y, err := steps(b)
	if err != nil {
		return nil, err
	}
	// One comparison for all steps: a tool call that is paired in a response is the same one in its output and in later
	// requests.
	c := comparison{pairs: map[string]string{}, reverse: map[string]string{}, ignore: volatile}
	var list []Step
	// Both lists are sorted by place, so they are merged.
	for len(x) > 0 || len(y) > 0 {
		order := 0
		switch {
		case len(x) == 0:
			order = 1
		case len(y) == 0:
			order = -1
		default:
			order = byPlace(x[0], y[0])
		}
		var s Step
		var ofA, ofB []byte
		if order <= 0 {
			s.Name, s.LineA = x[0].name, x[0].line
			if ofA, err = x[0].value(); err != nil {
				return nil, err
			}
			x = x[1:]
		}
		if order >= 0 {
			s.Name, s.LineB = y[0].name, y[0].line
			if ofB, err = y[0].value(); err != nil {
				return nil, err
			}
			y = y[1:]
		}
		if order == 0 {
			s.Difference = c.values("", ofA, ofB)
		} else {
			s.Difference = &Difference{A: brief(ofA), B: brief(ofB)}
		}
		list = append(list, s)
	}
	return list, nil
}

// FirstDifference returns the first step in which the runs differ; ok is false if they are equal.
func FirstDifference(list []Step) (s Step, ok bool) {
	i := slices.IndexFunc(list, func(s Step) bool { return s.Difference != nil })
	if i < 0 {
		return Step{}, false
	}
	return list[i], true
}

// volatile are the members that differ from run to run without meaning: usage depends on the provider's cache, and the
// provider's metadata has ids and times.
var volatile = []string{"message_ts", "timestamp", "session_key", "provider_meta", "usage", "meta"}

// step is a step of one run. Its value is read only when it is compared: together the requests of a run may be far larger than
// each of them.
type step struct {
	name  string
	place [3]int // exchange, kind, number: aligns the steps of both runs
	line  int
	value func() ([]byte, error)
}

// Kinds of steps in the order in which they happen in an exchange. Each kind is numbered separately, so that a tool call
// that only one run made does not shift the other steps.
const (
	stepRequest = iota
	stepResponse
	stepCall
	stepOutput
)

func byPlace(a, b step) int { return slices.Compare(a.place[:], b.place[:]) }

// afterAll is the place after every exchange; no run has that many.
const afterAll = 1 << 28

// steps lists what a run did.
func steps(l *Log) ([]step, error) {
	var list []step
	// Exchanges are numbered from 1 in each run, because seqs continue across the runs of a session and so differ.
	turn := 0                // the current exchange
	turns := map[int64]int{} // by seq
	calls := map[string][2]int{}
	outputs := 0
	for _, r := range l.records {
		// add adds a step whose value is a member of the record, or all of it for "", without some members.
		add := func(name string, place [3]int, member string, without ...string) {
			list = append(list, step{name, place, r.Line, func() ([]byte, error) {
				value, err := r.Raw()
				if member != "" {
					value = rawjson.Get(value, member)
				}
				for _, key := range without {
					value = rawjson.Delete(value, key)
				}
				return value, err
			}})
		}
		switch r.Type {
		case TypeRunStart:
			add("input", [3]int{0, 0, 0}, "input")
		case TypeLLMRequest:
			turn++
			turns[r.Seq] = turn
			add("request "+strconv.Itoa(turn), [3]int{turn, stepRequest, 0}, "", "type", "run_id", "ts", "seq")
		case TypeLLMResponse:
			// A response without its request belongs to the last request.
			of := cmp.Or(turns[r.Seq], turn)
			add("response "+strconv.Itoa(of), [3]int{of, stepResponse, 0}, "", "type", "run_id", "ts", "seq")
			raw, err := r.Raw()
			if err != nil {
				return nil, err
			}
			n := 0
			for m := range rawjson.Elements(rawjson.At(raw, "/output/messages")) {
				for call := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
					n++
					calls[rawjson.Str(call, "id")] = [2]int{of, n}
					list = append(list, step{fmt.Sprintf("tool call %d.%d", of, n), [3]int{of, stepCall, n}, r.Line,
						known(bytes.Clone(rawjson.Get(call, "function")))})
				}
			}
		case TypeToolOutput:
			raw, err := r.Raw()
			if err != nil {
				return nil, err
			}
			at, ok := calls[rawjson.Str(raw, "tool_call_id")]
			name := fmt.Sprintf("tool output %d.%d", at[0], at[1])
			// Without a call it has no place of its own: it goes after all calls of its exchange.
			if !ok {
				outputs++
				at, name = [2]int{turn, afterAll + outputs}, fmt.Sprintf("tool output %d without a call", turn)
			}
			add(name, [3]int{at[0], stepOutput, at[1]}, "", "type", "run_id", "ts", "output_ref")
		case TypeRunError:
			add("error", [3]int{afterAll, 0, 0}, "error", "stack")
		case TypeRunEnd:
			add("outcome", [3]int{afterAll, 1, 0}, "", "type", "run_id", "ts")
		}
	}
	// A run without an end gets a step as well, to be compared.
	if _, ok := l.End(); !ok {
		list = append(list, step{"outcome", [3]int{afterAll, 1, 0}, 0, known([]byte(`{"outcome":"crashed"}`))})
	}
	sorting.By(list, byPlace)
	return list, nil
}

// known wraps a value of a step that need not be read.
func known(value []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return value, nil }
}
