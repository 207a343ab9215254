package diff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, before, after, want string
	}{
		{"equal", "a\nb\n", "a\nb\n", ""},
		{"one line", "a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		{"from nothing", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"to nothing", "a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		{"newline at the end", "a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"two hunks", "1\n2\n3\n4\n5\n6\n7\n8\n", "x\n2\n3\n4\n5\n6\n7\ny\n",
			"@@ -1,2 +1,2 @@\n-1\n+x\n 2\n@@ -7,2 +7,2 @@\n 7\n-8\n+y\n"},
		{"near hunks are one", "1\n2\n3\n", "x\n2\ny\n", "@@ -1,3 +1,3 @@\n-1\n+x\n 2\n-3\n+y\n"},
		{"insertion", "1\n2\n3\n", "1\n2\nnew\n3\n", "@@ -2,2 +2,3 @@\n 2\n+new\n 3\n"},
		{"moved", "a\nb\nc\n", "c\na\nb\n", "@@ -1,3 +1,3 @@\n+c\n a\n b\n-c\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := string(Append(nil, Compare(c.before, c.after, 1)))
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// randomText has few different lines, so that much is equal.
func randomText(r *rand.Rand, lines int) string {
	var b strings.Builder
	for range r.IntN(lines + 1) {
		b.WriteString(strings.Repeat("x", r.IntN(4)))
		b.WriteByte('\n')
	}
	if r.IntN(3) == 0 {
		b.WriteString("end")
	}
	return b.String()
}

// edited changes some lines of a text.
func edited(r *rand.Rand, text string) string {
	lines := split(text)
	var b strings.Builder
	for i, l := range lines {
		switch r.IntN(8) {
		case 0: // removed
		case 1:
			fmt.Fprintf(&b, "new %d\n%s", i, l)
		case 2:
			fmt.Fprintf(&b, "changed %d\n", r.IntN(3))
		default:
			b.WriteString(l)
		}
	}
	return b.String()
}

func TestApplyGivesTheOtherText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		a := randomText(r, 30)
		b := randomText(r, 30)
		if n%2 == 0 {
			b = edited(r, a)
		}
		hunks := Compare(a, b, r.IntN(4))
		got, err := apply(a, hunks)
		if err != nil || got != b {
			t.Fatalf("round %d: %v\nfrom %q\nto   %q\ngot  %q\n%s", n, err, a, b, got, Append(nil, hunks))
		}
		// As a patch it is the same.
		if len(hunks) > 0 {
			text := append([]byte("--- a/f\n+++ b/f\n"), Append(nil, hunks)...)
			files := ParsePatch(string(text))
			if len(files) != 1 || files[0].Path != "f" {
				t.Fatalf("round %d: %+v\n%s", n, files, text)
			}
			if !reflect.DeepEqual(files[0].Hunks, hunks) {
				t.Fatalf("round %d: %+v, want %+v\n%s", n, files[0].Hunks, hunks, text)
			}
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("a\nb\n", "b\nc")
	f.Fuzz(func(t *testing.T, a, b string) {
		got, err := apply(a, Compare(a, b, 3))
		if err != nil || got != b {
			t.Fatalf("%v: got %q, want %q", err, got, b)
		}
	})
}

func FuzzParsePatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch")
	f.Add("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n")
	f.Fuzz(func(t *testing.T, text string) { ParsePatch(text) })
}

func TestShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		a, b := split(randomText(r, 12)), split(randomText(r, 12))
		x, y := intern(a, b)
		c := comparison{a: x, b: y}
		c.between(0, len(x), 0, len(y))
		equal := 0
		for _, m := range c.matches {
			equal += m.n
		}
		if want := longestCommon(a, b); equal != want {
			t.Fatalf("%q and %q: %d equal lines, want %d", a, b, equal, want)
		}
	}
}

// longestCommon returns the length of the longest common subsequence, by the textbook algorithm.
func longestCommon(a, b []string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			if a[i] == b[k] {
				table[i][k] = table[i+1][k+1] + 1
			} else {
				table[i][k] = max(table[i+1][k], table[i][k+1])
			}
		}
	}
	return table[0][0]
}

// apply applies hunks to a text, to check the result of Compare. The hunks have line numbers and are in order. Every line that stays or is
// removed must be in the text.
func apply(text string, hunks []Hunk) (string, error) {
	lines := split(text)
	var out strings.Builder
	at := 0
	for _, h := range hunks {
		before, after := h.Texts()
		from := h.OldLine - 1
		if before == "" {
			from = h.OldLine
		}
		old := split(before)
		if from < at || from+len(old) > len(lines) || strings.Join(lines[from:from+len(old)], "") != before {
			return "", fmt.Errorf("the hunk at line %d does not fit the text", h.OldLine)
		}
		for ; at < from; at++ {
			out.WriteString(lines[at])
		}
		out.WriteString(after)
		at += len(old)
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String(), nil
}

// Comparing two texts of 100,000 lines that have no lines, or the same few lines, in common must not take long.
func TestCompareIsBounded(t *testing.T) {
	var a, b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&a, "%d\n", i%7)
		fmt.Fprintf(&b, "%d\n", i*i%11)
	}
	begin := time.Now()
	hunks := Compare(a.String(), b.String(), 3)
	if got, err := apply(a.String(), hunks); err != nil || got != b.String() {
		t.Fatal("wrong difference", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestParsePatch(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []File
	}{
		{"begun", "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** Update File: a.go\n*** Move to: b.go\n@@ func f()\n x\n-y\n+z\n@@\n-1\n*** End of File\n*** Delete File: old.txt\n*** End Patch\nrest", []File{
			{Path: "new.txt", New: true, Hunks: []Hunk{{NewLine: 1, Lines: []Line{{Op: Added, Text: "one"}, {Op: Added, Text: "two"}}}}},
			{Path: "b.go", From: "a.go", Hunks: []Hunk{
				{Section: "func f()", Lines: []Line{{Text: "x"}, {Op: Removed, Text: "y"}, {Op: Added, Text: "z"}}},
				{Lines: []Line{{Op: Removed, Text: "1"}}}}},
			{Path: "old.txt", Deleted: true},
		}},
		{"in a here-document", "cd x && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a\n-b\n+c\n*** End Patch\nEOF\n", []File{
			{Path: "a", Hunks: []Hunk{{Lines: []Line{{Op: Removed, Text: "b"}, {Op: Added, Text: "c"}}}}},
		}},
		{"git", "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ func g()\n a\n-b\n+c\n\\ No newline at end of file\n", []File{
			{Path: "x", Hunks: []Hunk{{OldLine: 1, NewLine: 1, Section: "func g()", Lines: []Line{{Text: "a"}, {Op: Removed, Text: "b"}, {Op: Added, Text: "c", NoNewline: true}}}}},
		}},
		{"new and deleted", "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n--- a/o\t2026-01-01\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", []File{
			{Path: "n", New: true, Hunks: []Hunk{{NewLine: 1, Lines: []Line{{Op: Added, Text: "x"}}}}},
			{Path: "o", Deleted: true, Hunks: []Hunk{{OldLine: 1, Lines: []Line{{Op: Removed, Text: "x"}}}}},
		}},
		{"a removed line of dashes", "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- y\n z\n", []File{
			{Path: "x", Hunks: []Hunk{{OldLine: 1, NewLine: 1, Lines: []Line{{Op: Removed, Text: "-- y"}, {Text: "z"}}}}},
		}},
		{"no patch", "--- not a patch\nat all\n@@ -x @@\n", nil},
		{"only words", "please *** Begin", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ParsePatch(c.text); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
