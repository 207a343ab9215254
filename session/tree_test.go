package session_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// grow builds a tree from lines of words: an id ("-" for none), its parent ("-" for none, "^" for the entry before) and optionally
// a kind or flag: "label TARGET TEXT", "leaf TARGET", "keep INDEX", "repeats", "again" for a message that repeats, "aside", "piece MESSAGE".
func grow(t *testing.T, lines ...string) *session.Tree {
	t.Helper()
	b := session.NewBuilder("log", nil)
	b.SetHeader(session.Header{ID: "5e55"})
	addLines(t, b, 0, lines)
	return b.Finish()
}

// addLines adds the entries of lines. at is the position of the first.
func addLines(t *testing.T, b *session.Builder, at int, lines []string) {
	t.Helper()
	for i, line := range lines {
		i += at
		words := strings.Fields(line)
		env := session.Envelope{
			Kind: session.KindMessage, Type: []byte("message"), Line: i + 1, Span: session.Span{Offset: int64(10 * i), Length: 10},
			Record: fmt.Appendf(nil, "record %d", i),
		}
		if words[0] != "-" {
			env.ID = []byte(words[0])
		}
		switch words[1] {
		case "-":
		case "^":
			env.InOrder = true
		default:
			env.Parent = []byte(words[1])
		}
		switch strings.Join(words[2:min(3, len(words))], "") {
		case "label":
			env.Kind, env.Target, env.Label = session.KindLabel, []byte(words[3]), []byte(strings.Join(words[4:], " "))
		case "leaf":
			env.Kind = session.KindLeaf
			if words[3] != "-" {
				env.Target = []byte(words[3])
			}
		case "keep":
			env.Kind, env.HasKeepIndex = session.KindCompaction, true
			if _, err := fmt.Sscan(words[3], &env.KeepIndex); err != nil {
				t.Fatal(err)
			}
		case "repeats":
			env.Repeats = true
		case "again":
			env.Repeats, env.Message = true, env.ID
		case "aside":
			env.Aside = true
		case "piece":
			env.Message = []byte(words[3])
		}
		b.Add(&env)
	}
}

func ids(entries []session.Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, string(e.ID))
	}
	return strings.Join(list, " ")
}

func pathTo(t *testing.T, tree *session.Tree, id session.EntryID) string {
	t.Helper()
	p, err := tree.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	var list []session.Entry
	for _, e := range p.Entries() {
		list = append(list, e)
	}
	return ids(list)
}

func problems(tree *session.Tree) string {
	var list []string
	for _, p := range tree.Problems() {
		list = append(list, fmt.Sprintf("%d:%s", p.Line, p.Kind))
	}
	return strings.Join(list, " ")
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q instead of %q", what, got, want)
	}
}

func TestChildren(t *testing.T) {
	tree := grow(t, "a -", "b a", "c a", "d b", "e -", "f a", "g gone")
	same(t, "children in file order", ids(tree.Children("a")), "b c f")
	same(t, "children of a leaf", ids(tree.Children("g")), "")
	same(t, "children of nobody", ids(tree.Children("nobody")), "")
	same(t, "roots and orphans", ids(tree.Roots()), "a e g")
	same(t, "path", pathTo(t, tree, "d"), "a b d")
	same(t, "path of an orphan", pathTo(t, tree, "g"), "g")
	same(t, "path to nowhere", pathTo(t, tree, ""), "")
	same(t, "leaf", string(tree.LeafID()), "g")
	same(t, "problems", problems(tree), "7:orphan")
	for id, want := range map[session.EntryID]int{"a": -1, "g": -2} {
		if e, ok := tree.Lookup(id); !ok || tree.Above(e.Index) != want {
			t.Errorf("above %s is %d, want %d", id, tree.Above(e.Index), want)
		}
	}
	if e, _ := tree.Lookup("g"); e.Parent != "gone" {
		t.Errorf("the orphan's parent is %q", e.Parent)
	}
}

func TestChildBeforeParent(t *testing.T) {
	tree := grow(t, "c b", "b a", "d c", "a -")
	same(t, "path", pathTo(t, tree, "d"), "a b c d")
	same(t, "roots", ids(tree.Roots()), "a")
	same(t, "children", ids(tree.Children("b")), "c")
	same(t, "problems", problems(tree), "")
}

func TestUnknownEntry(t *testing.T) {
	tree := grow(t, "a -")
	_, err := tree.Get("nobody")
	if !errors.Is(err, session.ErrUnknownEntry) || err.Error() != "entry nobody not found" {
		t.Errorf("Get: %v", err)
	}
	if _, err := tree.Path("nobody"); !errors.Is(err, session.ErrUnknownEntry) {
		t.Errorf("Path: %v", err)
	}
	if _, ok := tree.Lookup("nobody"); ok {
		t.Error("Lookup found it")
	}
}

func TestLabels(t *testing.T) {
	tree := grow(t,
		"l1 - label b early", "a -", "b a",
		"l2 b label a first", "l3 a label a second", // the last in the file, not on the path
		"l4 l3 label b ", "l5 l4 label c late", "c b", "l6 c label nobody x",
	)
	same(t, "the last one counts", tree.Label("a"), "second")
	same(t, "an empty one clears", tree.Label("b"), "")
	same(t, "before its target", tree.Label("c"), "late")
	same(t, "none", tree.Label("l1"), "")
	same(t, "problems", problems(tree), "9:label-target")
	labels := maps.Collect(tree.Labels())
	if len(labels) != 3 || labels["a"] != "second" || labels["c"] != "late" || labels["nobody"] != "x" {
		t.Errorf("labels %v", labels)
	}
}

func TestDuplicates(t *testing.T) {
	tree := grow(t, "a -", "b a", "a - ", "c b", "b a", "d c")
	if tree.Len() != 6 {
		t.Fatalf("%d entries", tree.Len())
	}
	e, _ := tree.Lookup("a")
	same(t, "lookup", fmt.Sprint(e.Index), "2")
	p, err := tree.Path("d")
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, e := range p.Entries() {
		lines = append(lines, e.Line)
	}
	same(t, "the path takes the last of each", fmt.Sprint(lines), "[3 5 4 6]")
	same(t, "children of the last", ids(tree.Children("a")), "b b")
	same(t, "problems", problems(tree), "3:duplicate-id 5:duplicate-id")
}

// An entry that names no parent follows the entry before it, even where that entry's id comes again.
func TestDuplicateAfterItsFollower(t *testing.T) {
	p, err := grow(t, "a -", "b ^", "a -").Path("b")
	if err != nil {
		t.Fatal(err)
	}
	if first := p.At(0).Index; p.Len() != 2 || first != 0 {
		t.Errorf("%d entries on the path, the first is number %d; want 2, number 0", p.Len(), first)
	}
}

func TestDuplicateMakesCycle(t *testing.T) {
	// The parent of the second a is its own child.
	tree := grow(t, "a -", "b a", "a b")
	same(t, "path", pathTo(t, tree, "a"), "b a")
	same(t, "problems", problems(tree), "3:duplicate-id 2:cycle")
}

func TestCycles(t *testing.T) {
	tree := grow(t, "a c", "b a", "c b", "d c", "x y", "y x", "s s", "t s", "r -")
	for leaf, want := range map[session.EntryID]string{"d": "a b c d", "a": "b c a", "y": "x y", "t": "s t", "r": "r"} {
		same(t, "path to "+string(leaf), pathTo(t, tree, leaf), want)
	}
	// Every entry can be reached from a root, exactly once.
	var all []string
	var down func([]session.Entry)
	down = func(list []session.Entry) {
		for _, e := range list {
			all = append(all, string(e.ID))
			down(tree.Children(e.ID))
		}
	}
	down(tree.Roots())
	slices.Sort(all)
	same(t, "reached", strings.Join(all, " "), "a b c d r s t x y")
	if n := strings.Count(problems(tree), "cycle"); n != 3 {
		t.Errorf("%d cycles are reported: %s", n, problems(tree))
	}
}

// TestLarge builds large trees in shapes that are slow where something is not linear. It measures no time; quadratic code
// would not end.
func TestLarge(t *testing.T) {
	const long, many = 200_000, 20_000
	id := func(i int) []byte { return strconv.AppendInt(nil, int64(i)+1<<32, 16) }
	for _, tc := range []struct {
		name   string
		n      int
		parent func(i int) []byte
		path   int // its length at the last entry
		roots  int
	}{
		{"chain", long, func(i int) []byte { return id(i - 1) }, long, 1},
		{"circle", long, func(i int) []byte { return id((i + long - 1) % long) }, long, 1},
		{"chain backwards", many, func(i int) []byte { return id(i + 1) }, 1, 1},
		{"star", many, func(int) []byte { return id(0) }, 2, 1},
		{"circles of two", many, func(i int) []byte { return id(i ^ 1) }, 2, many / 2},
		{"own parents", many, id, 1, many},
		{"orphans", many, func(i int) []byte { return id(many + i) }, 1, many},
		{"roots", many, func(int) []byte { return nil }, 1, many},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := session.NewBuilder("log", nil)
			var env session.Envelope
			n := tc.n
			for i := range n {
				env = session.Envelope{ID: id(i), Kind: session.KindCustom, Type: []byte("custom"), Line: i + 1}
				if (i > 0 || tc.name != "chain" && tc.name != "star") && (i < n-1 || tc.name != "chain backwards") {
					env.Parent = tc.parent(i)
				}
				b.Add(&env)
			}
			tree := b.Finish()
			p, err := tree.Path(tree.LeafID())
			if err != nil || p.Len() != tc.path {
				t.Errorf("the path has %d entries, %v", p.Len(), err)
			}
			if roots := len(tree.Roots()); roots != tc.roots {
				t.Errorf("%d roots", roots)
			}
			if on := tree.OnActivePath(); !on[n-1] {
				t.Error("the leaf is not on the active path")
			}
		})
	}
}

func TestDerivedIDs(t *testing.T) {
	lines := []string{"- -", "- -", "a -", "- a", "- a"}
	tree := grow(t, lines...)
	seen := map[session.EntryID]bool{}
	for e := range tree.Entries() {
		if seen[e.ID] || e.ID == "" {
			t.Errorf("the id %q occurs twice", e.ID)
		}
		seen[e.ID] = true
		if e.ID != "a" && e.NativeID != "" {
			t.Errorf("%q has the native id %q", e.ID, e.NativeID)
		}
		found, ok := tree.Lookup(e.ID)
		if !ok || found.Index != e.Index {
			t.Errorf("%q is not found", e.ID)
		}
	}
	again := grow(t, lines...)
	for e := range tree.Entries() {
		if now := again.At(e.Index).ID; now != e.ID {
			t.Errorf("entry %d is %q, and %q when read again", e.Index, e.ID, now)
		}
	}
	// Entries that are added later do not change earlier ones.
	longer := grow(t, append(slices.Clone(lines), "- a", "b a")...)
	for e := range tree.Entries() {
		if now := longer.At(e.Index).ID; now != e.ID {
			t.Errorf("entry %d is %q, and %q in a longer log", e.Index, e.ID, now)
		}
	}
}

// TestDerivedIDCollides gives an entry the id that was derived for another: the entry that has it in the log keeps it.
func TestDerivedIDCollides(t *testing.T) {
	made := string(grow(t, "- -").At(0).ID)
	for name, lines := range map[string][]string{
		"made up first":    {"- -", made + " -", "child " + made},
		"in the log first": {"x -", made + " -", "child " + made, "- -"},
	} {
		tree := grow(t, lines...)
		e, ok := tree.Lookup(session.EntryID(made))
		if !ok || e.NativeID != session.EntryID(made) {
			t.Errorf("%s: %q means entry %d, whose own id is %q", name, made, e.Index, e.NativeID)
		}
		same(t, name, pathTo(t, tree, "child"), made+" child")
		same(t, name+": problems", problems(tree), "")
		seen := map[session.EntryID]bool{}
		for e := range tree.Entries() {
			if seen[e.ID] {
				t.Errorf("%s: %q occurs twice", name, e.ID)
			}
			seen[e.ID] = true
		}
	}
}

// TestDetachedContextStays: entries that are added to the tree do not change a context that was detached from it, even if an
// entry of the context loses the id that was derived for it.
func TestDetachedContextStays(t *testing.T) {
	b := session.NewBuilder("log", nil)
	b.SetHeader(session.Header{ID: "5e55"})
	b.SetCodec(session.Codec{EntryCodec: pi.Pi})
	addLines(t, b, 0, []string{"- -"})
	tree := b.Finish()
	made := tree.At(0).ID
	c, err := session.BuildContext(tree, made, session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Detach()
	addLines(t, b, 1, []string{string(made) + " -"})
	b.Finish()
	if now := tree.At(0).ID; now == made {
		t.Errorf("entry 0 is still %q, the id of another one", now)
	}
	for e := range c.Entries() {
		if e.ID != made {
			t.Errorf("the detached context has entry %q; want %q", e.ID, made)
		}
	}
}

func TestRepeatedNativeIDs(t *testing.T) {
	tree := grow(t, "a - repeats", "b ^ repeats", "a ^ repeats", "a ^ repeats", "c ^ repeats")
	same(t, "path", pathTo(t, tree, "c"), "a b a~2 a~3 c")
	e, _ := tree.Lookup("a~2")
	same(t, "native id", string(e.NativeID), "a")
	same(t, "problems", problems(tree), "")
}

// TestRepeatedMessages: a record that is written again is a piece of the first record of its message, even with other records
// between them, and not of another entry with the same id.
func TestRepeatedMessages(t *testing.T) {
	tree := grow(t, "a - again", "b ^ again", "a ^ again", "c ^ again", "b ^ again", "d ^ repeats", "d ^ again", "c ^ again", "d ^ again")
	var got []string
	for e := range tree.Entries() {
		got = append(got, fmt.Sprint(e.ID, " ", e.FirstPiece()))
	}
	same(t, "first pieces", strings.Join(got, ", "), "a 0, b 1, a~2 0, c 3, b~2 1, d 5, d~2 6, c~2 3, d~3 6")
}

func TestFirstKept(t *testing.T) {
	tree := grow(t, "- -", "- ^", "- ^ keep 1", "- ^ keep -1", "- ^")
	kept, ok := tree.At(2).FirstKept()
	if !ok || kept != tree.At(1).ID {
		t.Errorf("kept from %q, %v", kept, ok)
	}
	if kept, ok := tree.At(3).FirstKept(); !ok || kept != "" {
		t.Errorf("nothing kept: %q, %v", kept, ok)
	}
	if _, ok := tree.At(4).FirstKept(); ok {
		t.Error("an entry that is no compaction keeps something")
	}
}

func TestLeafEntries(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lines []string
		leaf  string
		wrong string
	}{
		{"the last leaf counts", []string{"a -", "b a", "l1 b leaf a"}, "a", ""},
		{"before the first entry", []string{"a -", "l1 a leaf -"}, "", ""},
		{"entries follow it", []string{"a -", "b a", "l1 b leaf a", "c a"}, "c", ""},
		{"two of them", []string{"a -", "b a", "l1 b leaf b", "l2 b leaf a"}, "a", ""},
		{"to nobody", []string{"a -", "b a", "l1 b leaf nobody"}, "b", "3:leaf-target"},
		{"to nobody after a good one", []string{"a -", "b a", "l1 b leaf a", "l2 b leaf nobody"}, "a", "4:leaf-target"},
		{"to a later entry", []string{"l1 - leaf b", "a -", "b a", "l2 b leaf a"}, "a", ""},
	} {
		tree := grow(t, tc.lines...)
		same(t, tc.name, string(tree.LeafID()), tc.leaf)
		same(t, tc.name+": problems", problems(tree), tc.wrong)
	}
}

// A log may have any number of leaf moves to entries that do not exist: each goes back to the previous leaf without a search.
func TestManyBadLeaves(t *testing.T) {
	lines := []string{"a -", "b a", "c b leaf a"}
	for i := range 50_000 {
		lines = append(lines, fmt.Sprintf("x%d b leaf nosuch", i))
	}
	tree := grow(t, lines...)
	if tree.LeafID() != "a" || len(tree.Problems()) != 50_000 {
		t.Errorf("leaf %q, %d problems", tree.LeafID(), len(tree.Problems()))
	}
}

// Made-up ids are unique, even where 32 bits are not enough to tell so many apart, and stay the same when
// the log grows.
func TestMadeUpIDs(t *testing.T) {
	const entries = 150_000
	build := func(n int) *session.Tree {
		b := session.NewBuilder("log", nil)
		b.SetHeader(session.Header{ID: "5e55"})
		for i := range n {
			b.Add(&session.Envelope{InOrder: true, Kind: session.KindMessage, Type: []byte("message"), Record: strconv.AppendInt(nil, int64(i), 10), Line: i + 1})
		}
		return b.Finish()
	}
	all, part := build(entries), build(entries*2/3)
	seen := make(map[session.EntryID]bool, entries)
	for i := range entries {
		id := all.At(i).ID
		if seen[id] {
			t.Fatalf("%s twice", id)
		}
		seen[id] = true
		if i < part.Len() && part.At(i).ID != id {
			t.Fatalf("entry %d is %s, was %s", i, id, part.At(i).ID)
		}
		if e, ok := all.Lookup(id); !ok || e.Index != i {
			t.Fatalf("%s is not found", id)
		}
	}
	if len(all.Problems()) > 0 {
		t.Error(all.Problems()[0])
	}
}
