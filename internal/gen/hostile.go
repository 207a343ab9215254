package gen

import (
	"bytes"
	"fmt"
)

// Hostile is a dimension in which a log can grow while everything else stays small. An operation that is quadratic in one of
// them takes hours on a file of some megabytes.
type Hostile struct {
	Name string
	// record appends the nth of count records.
	record func(b *bytes.Buffer, n, count int)
}

// HostileLogs are all dimensions.
var HostileLogs = []Hostile{
	{"labels", func(b *bytes.Buffer, n, count int) {
		if n == 0 {
			said(b, "e0", "", "first")
			return
		}
		label(b, n, before("l", n), []string{"e0", fmt.Sprint("l", n/2)}[n%2], fmt.Sprint("label ", n))
	}},
	{"equal ids", func(b *bytes.Buffer, n, _ int) { said(b, "same", "", fmt.Sprint("word", n)) }},
	{"equal parents", func(b *bytes.Buffer, n, _ int) { said(b, "same", "same", fmt.Sprint("word", n)) }},
	// Every id twice, so that no new id may be chosen where one is mentioned.
	{"pairs", func(b *bytes.Buffer, n, _ int) { said(b, fmt.Sprint("e", n/2), before("e", n/2), "pair") }},
	{"branches", func(b *bytes.Buffer, n, _ int) {
		parent := "e0"
		if n == 0 {
			parent = ""
		}
		said(b, fmt.Sprint("e", n), parent, "branch")
	}},
	{"orphans", func(b *bytes.Buffer, n, _ int) { said(b, fmt.Sprint("e", n), fmt.Sprint("gone", n), "orphan") }},
	{"compactions", func(b *bytes.Buffer, n, count int) {
		if n%2 == 0 {
			said(b, fmt.Sprint("e", n), before("e", n), "kept")
			return
		}
		// Each keeps everything from the first entry on.
		fmt.Fprintf(b, `{"type":"compaction","id":"e%d","parentId":"e%d","timestamp":"2026-03-02T14:00:00.000Z","summary":"summary %d","firstKeptEntryId":"e0","tokensBefore":1}`+"\n",
			n, n-1, n)
	}},
	{"blank lines", func(b *bytes.Buffer, n, count int) {
		if n == 0 || n == count-1 {
			said(b, fmt.Sprint("e", n), "", "text")
			return
		}
		b.WriteString("  \t                                                     \n")
	}},
	// Entries that are each other's parents, in one cycle.
	{"cycles", func(b *bytes.Buffer, n, count int) {
		said(b, fmt.Sprint("e", n), fmt.Sprint("e", (n+1)%count), "cycle")
	}},
	{"short cycles", func(b *bytes.Buffer, n, _ int) { said(b, fmt.Sprint("e", n), fmt.Sprint("e", n^1), "cycle") }},
	{"summaries", func(b *bytes.Buffer, n, _ int) {
		fmt.Fprintf(b, `{"type":"branch_summary","id":"e%d","parentId":%s,"timestamp":"2026-03-02T14:00:00.000Z","fromId":"e0","summary":"summary %d"}`+"\n",
			n, quoted(before("e", n)), n)
	}},
	// A chain, which is the usual case, for comparison.
	{"messages", func(b *bytes.Buffer, n, _ int) { said(b, fmt.Sprint("e", n), before("e", n), "text") }},
	{"unlabels", func(b *bytes.Buffer, n, count int) {
		// Half of the labels are given, then all are taken away in the same order.
		switch {
		case n == 0:
			said(b, "e0", "", "first")
		case n < count/2:
			label(b, n, before("l", n), fmt.Sprint("l", n), "x")
		default:
			label(b, n, before("l", n), fmt.Sprint("l", n-count/2), "")
		}
	}},
	{"label branches", func(b *bytes.Buffer, n, _ int) {
		if n%2 == 0 {
			said(b, fmt.Sprint("e", n), "", "root")
			return
		}
		label(b, n, fmt.Sprint("missing", n), fmt.Sprint("e", n-1), "x")
	}},
	{"malformed", func(b *bytes.Buffer, n, _ int) { fmt.Fprintf(b, `{"type":"message","id":"e%d","parentId`+"\n", n) }},
	{"glued", func(b *bytes.Buffer, n, count int) {
		said(b, fmt.Sprint("e", n), before("e", n), "glued")
		if n < count-1 {
			b.Truncate(b.Len() - 1)
		}
	}},
	{"leaf moves", func(b *bytes.Buffer, n, _ int) {
		if n%2 == 0 {
			said(b, fmt.Sprint("e", n), before("e", n), "text")
			return
		}
		fmt.Fprintf(b, `{"type":"custom","id":"e%d","parentId":"e0","timestamp":"2026-03-02T14:00:00.000Z","customType":"treeline.leaf","data":{}}`+"\n", n)
	}},
}

// Log makes an omp session of so many records in that dimension.
func (h Hostile) Log(id string, count int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":"%s","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/hostile"}`+"\n", id)
	for n := range count {
		h.record(&b, n, count)
	}
	return b.Bytes()
}

// said appends a message of the user.
func said(b *bytes.Buffer, id, parent, text string) {
	fmt.Fprintf(b, `{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"user","content":"%s"}}`+"\n",
		id, quoted(parent), text)
}

// label appends the nth record, a label; an empty text takes the label away.
func label(b *bytes.Buffer, n int, parent, target, text string) {
	fmt.Fprintf(b, `{"type":"label","id":"l%d","parentId":"%s","timestamp":"2026-03-02T14:00:00.000Z","targetId":"%s"`, n, parent, target)
	if text != "" {
		fmt.Fprintf(b, `,"label":"%s"`, text)
	}
	b.WriteString("}\n")
}

func quoted(id string) string {
	if id == "" {
		return "null"
	}
	return `"` + id + `"`
}

// before is the id of the record before the nth.
func before(prefix string, n int) string {
	if n == 0 {
		return ""
	}
	if prefix == "l" && n == 1 {
		return "e0"
	}
	return fmt.Sprint(prefix, n-1)
}
