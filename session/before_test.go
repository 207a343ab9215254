package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

// TestBefore tests what Before says about the first entries of a log.
func TestBefore(t *testing.T) {
	tests := []struct {
		name  string
		lines string
		at    int // number of entries before the place
		want  string
	}{
		{"one end", "a -, b a, c b, d c", 3, "3 entries, 0 problems, ends [[c]], labels [], missing []"},
		{"none", "a -, b a", 0, "0 entries, 0 problems, ends [], labels [], missing []"},
		{"branches", "a -, b a, c a, d c", 4, "4 entries, 0 problems, ends [[b] [d]], labels [], missing []"},
		{"a label below the end", "a -, b a, l b label a x, m l leaf a", 4, "4 entries, 0 problems, ends [[b l m]], labels [a], missing []"},
		{"more below a label", "a -, l a label a x, b l", 3, "3 entries, 0 problems, ends [[b]], labels [a], missing []"},
		{"a label that was taken away", "a -, l a label a x, m l label a", 3, "3 entries, 0 problems, ends [[a l m]], labels [], missing []"},
		{"a label beside the path", "a -, b a, l a label b x", 3, "3 entries, 0 problems, ends [[b]], labels [b], missing []"},
		{"missing", "a x, b a, l b label y z, m l leaf w", 4, "4 entries, 3 problems, ends [[b l m]], labels [y], missing [w x y]"},
		{"in a row", "a ^, b ^, c ^", 2, "2 entries, 0 problems, ends [[b]], labels [], missing [], last b"},
		{"in a row, with a label", "a ^, l ^ label a x, c ^", 2, "2 entries, 0 problems, ends [[a l]], labels [a], missing [], last l"},
		{"a row beside the end", "a -, b a, c ^ aside, d ^ aside, e b", 4, "4 entries, 0 problems, ends [[b c d]], labels [], missing [], last d"},
		{"in a row, from an earlier entry", "a ^, b ^, c ^, d a, e ^", 5, "5 entries, 0 problems, ends [[c] [e]], labels [], missing [], last e"},
		{"in a row, after a leaf move", "a ^, m ^ leaf a, c ^", 2, "cannot be said"},
		{"a parent after it", "a b, b -, c b", 2, "cannot be said"},
		{"a parent after the place", "a c, b a, c -", 2, "cannot be said"},
		{"a target after the place", "a -, l a label b x, b a", 2, "cannot be said"},
		{"an id again after the place", "a -, b a, a -", 2, "cannot be said"},
	}
	for _, test := range tests {
		b := session.NewBuilder("log", nil)
		addLines(t, b, 0, strings.Split(test.lines, ", "))
		b.Finish()
		got := "cannot be said"
		if p, ok := b.Before(int64(10 * test.at)); ok {
			got = fmt.Sprintf("%d entries, %d problems, ends %v, labels %v, missing %v", p.Entries, p.Problems, p.Ends, p.Labels, p.Missing)
			if strings.Contains(test.lines, "^") {
				got += fmt.Sprintf(", last %s", p.Last)
			}
		}
		if got != test.want {
			t.Errorf("%s: %s\n  not %s", test.name, got, test.want)
		}
	}
}

// TestBehind: a reader that continues from Before finds what a reader of the whole log finds, and can itself be continued.
func TestBehind(t *testing.T) {
	said := 0
	for seed := range uint64(soaktest.Part(3000, 1000)) {
		r := rand.New(rand.NewPCG(seed, 1))
		lines := randomLines(r)
		whole := session.NewBuilder("log", nil)
		whole.SetHeader(session.Header{ID: "5e55"})
		addLines(t, whole, 0, lines)
		tree := whole.Finish()
		n := r.IntN(len(lines) + 1)
		before, ok := whole.Before(int64(10 * n))
		if !ok || again(tree, n) {
			continue
		}
		said++
		b := session.NewBuilder("log", nil)
		b.SetHeader(session.Header{ID: "5e55"})
		b.StartAfter(before, func(id session.EntryID) bool {
			e, ok := tree.Lookup(id)
			return ok && e.Index < n
		})
		addLines(t, b, n, lines[n:])
		rest := b.Finish()
		say := func(b *session.Builder, t *session.Tree, from int) string {
			text := fmt.Sprintf("%d entries, %d branches, %d problems, labels: %v", b.Position(), t.Tips(), b.Problems(), b.Labelled())
			for i := from; i < t.Len(); i++ {
				text += fmt.Sprintf("; %s below %s, begins a message: %v", t.At(i).ID, t.At(i).Parent, t.At(i).IsMessage())
			}
			return text
		}
		if want, got := say(whole, tree, n), say(b, rest, 0); want != got {
			t.Fatalf("seed %d: %q from %d on:\n%s\nnot\n%s", seed, lines, n, got, want)
		}
		for k := n; k <= len(lines); k++ {
			want, wantOK := whole.Before(int64(10 * k))
			got, gotOK := b.Before(int64(10 * k))
			if diff := difftest.Diff(want, got, difftest.EmptyIsNil); wantOK != gotOK || wantOK && diff != "" {
				t.Fatalf("seed %d: %q from %d on, before %d: %v, not %v\n%s", seed, lines, n, k, gotOK, wantOK, diff)
			}
		}
	}
	if said < soaktest.Part(1000, 300) {
		t.Errorf("only %d logs could be read on", said)
	}
}

// again reports whether an id before the nth entry also occurs after it.
func again(t *session.Tree, n int) bool {
	var ids []session.EntryID
	for e := range t.Entries() {
		if e.Index >= n && slices.Contains(ids, e.ID) {
			return true
		}
		ids = append(ids, e.ID)
	}
	return false
}

// randomLines makes a small log: mostly a conversation, with branches, labels and defects.
func randomLines(r *rand.Rand) []string {
	row := r.IntN(4) // 0: most entries name no parent; 1: some do not
	var lines []string
	for i := range 2 + r.IntN(12) {
		parent, id := "-", fmt.Sprint("e", i)
		some := func() string { return fmt.Sprint("e", r.IntN(i+1+r.IntN(8)/7)) }
		if i > 0 {
			parent = fmt.Sprint("e", i-1)
		}
		switch r.IntN(12) {
		case 0, 1:
			parent = some()
		case 2:
			parent = "nobody"
		case 3:
			id = some()
		case 4:
			id = "-"
		}
		line := id + " " + parent
		// Even among entries that name no parent, one may name an earlier entry.
		if row == 0 && (i == 0 || r.IntN(5) > 0) || row == 1 && r.IntN(3) == 0 {
			line = id + " ^"
		}
		switch r.IntN(8) {
		case 0:
			line += " label " + some() + " here"
		case 1:
			line += " label " + some()
		case 2:
			line += " leaf " + some()
		case 3:
			line += " aside"
		case 4, 5:
			line += fmt.Sprint(" piece m", r.IntN(3))
		}
		lines = append(lines, line)
	}
	return lines
}
