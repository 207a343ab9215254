package gen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// record has the members that the tests check.
type record struct {
	Type, ID         string
	ParentID         *string
	Timestamp        time.Time
	Version          int
	Cwd, Title       string
	FirstKeptEntryID string
	TargetID         string
	FromID           string
	Provider, Model  string
	Message          struct {
		Role       string
		ToolCallID string
		Content    []struct {
			Type, ID, Data string
		}
	}
}

// parse reads a session, and fails the test if a line is not a JSON object or the last line is unterminated.
func parse(t *testing.T, log []byte) []record {
	t.Helper()
	if !bytes.HasSuffix(log, []byte("\n")) {
		t.Fatal("the last line does not end")
	}
	var out []record
	for line := range bytes.Lines(log) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %d: %v\n%s", len(out)+1, err, line)
		}
		out = append(out, r)
	}
	return out
}

func TestSameSeedSameBytes(t *testing.T) {
	o := Options{Seed: 7, Project: 3, Bytes: 300_000, Branches: 3, Images: 1}
	first := Session(o)
	if !bytes.Equal(first, Session(o)) {
		t.Error("the same options gave different sessions")
	}
	o.Seed++
	if bytes.Equal(first, Session(o)) {
		t.Error("another seed gave the same session")
	}
}

// TestBytesArePinned fails if the generator changes: measurements before and after would not be comparable. All machines must produce the
// same bytes.
func TestBytesArePinned(t *testing.T) {
	const want = "6774c4c905747682"
	sum := sha256.Sum256(Session(Options{Seed: 1, Bytes: 2_000_000, Branches: 5, Images: 2}))
	if got := hex.EncodeToString(sum[:8]); got != want {
		t.Errorf("sha256 begins with %s, not %s: if the generator was meant to change, say so in the commit", got, want)
	}
}

func TestWhole(t *testing.T) {
	for name, o := range map[string]Options{
		"default":    {},
		"omp":        {Seed: 1, Entries: 3000, Branches: 40, Images: 2, ImageBytes: 4000},
		"pi":         {Seed: 2, Entries: 3000, Branches: 40, Pi: true, CompactEvery: 50},
		"no compact": {Seed: 3, Bytes: 1_000_000, CompactEvery: -1},
		"one entry":  {Seed: 4, Entries: 1},
		"odd names":  {Seed: 5, Entries: 50, Cwd: `C:\a "b"`, Title: "line\nbreak", ID: "x-1"},
	} {
		t.Run(name, func(t *testing.T) { checkWhole(t, o, parse(t, Session(o))) })
	}
}

// checkWhole checks that all references of a session exist, and that it follows the options.
func checkWhole(t *testing.T, o Options, records []record) {
	header, entries := records[0], records[1:]
	if header.Type != "session" || header.Version != 3 || header.Cwd == "" || header.Title == "" != o.Pi {
		t.Errorf("header %+v", header)
	}
	if o.Cwd != "" && (header.Cwd != o.Cwd || header.Title != o.Title || header.ID != o.ID) {
		t.Errorf("header %+v; want the names of the options", header)
	}
	if o.Entries > 0 && len(entries) != o.Entries {
		t.Errorf("%d entries, want %d", len(entries), o.Entries)
	}
	if last := entries[len(entries)-1]; last.Message.Role != "assistant" {
		t.Errorf("ends with %s %s, not with an answer", last.Type, last.Message.Role)
	}
	parents, children := map[string]string{}, map[string]int{}
	var open []string // ids of tool calls without a result
	images, compactions := 0, 0
	for i, e := range entries {
		parent := ""
		if e.ParentID != nil {
			parent = *e.ParentID
			if _, ok := parents[parent]; !ok {
				t.Fatalf("entry %d: parent %s does not come before it", i, parent)
			}
		}
		if _, ok := parents[e.ID]; ok || len(e.ID) != 8 {
			t.Fatalf("entry %d: id %q", i, e.ID)
		}
		parents[e.ID] = parent
		children[parent]++
		for _, target := range []string{e.TargetID, e.FromID} {
			if _, ok := parents[target]; !ok && target != "" {
				t.Errorf("entry %d: %s refers to %s, which does not exist", i, e.Type, target)
			}
		}
		if e.Type == "compaction" {
			compactions++
			for at := parent; at != e.FirstKeptEntryID; at = parents[at] {
				if at == "" {
					t.Fatalf("entry %d: the first kept entry %s is not on the path", i, e.FirstKeptEntryID)
				}
			}
		}
		if e.Message.Role != "toolResult" && len(open) > 0 {
			t.Fatalf("entry %d: tool calls without a result: %q", i, open)
		}
		for _, c := range e.Message.Content {
			switch c.Type {
			case "toolCall":
				open = append(open, c.ID)
			case "image":
				images++
			}
		}
		if e.Message.Role == "toolResult" {
			if len(open) == 0 || open[0] != e.Message.ToolCallID {
				t.Fatalf("entry %d: answers %s, want one of %q", i, e.Message.ToolCallID, open)
			}
			open = open[1:]
		}
		if i > 0 && e.Timestamp.Before(entries[i-1].Timestamp) {
			t.Errorf("entry %d goes back in time", i)
		}
	}
	branches := 0
	for _, n := range children {
		branches += n - 1
	}
	if branches != o.Branches || images != o.Images {
		t.Errorf("%d branches and %d images, want %d and %d", branches, images, o.Branches, o.Images)
	}
	if want := o.CompactEvery >= 0 && len(entries) > 900; want != (compactions > 0) {
		t.Errorf("%d compactions in %d entries", compactions, len(entries))
	}
}

func TestSize(t *testing.T) {
	for _, n := range []int64{2000, 2500, 5000, 20_000, 142_000, 800_000} {
		for seed := range uint64(5) {
			log := Session(Options{Seed: seed, Bytes: n, Branches: 2, Images: 1})
			if int64(len(log)) != n {
				t.Errorf("seed %d: %d bytes, want %d", seed, len(log), n)
			}
			parse(t, log)
		}
	}
	if log := Session(Options{Bytes: 10}); len(parse(t, log)) != 1 {
		t.Errorf("too few bytes for an entry gave %q", log)
	}
}

// TestProportions compares the sessions with measurements of real ones.
func TestProportions(t *testing.T) {
	log := Session(Options{Seed: 9, Bytes: 5_000_000})
	var sizes []int
	var results, escapes int
	escape := regexp.MustCompile(`(\\.)+`)
	kinds := map[string]int{}
	for line := range bytes.Lines(log) {
		sizes = append(sizes, len(line))
		for _, role := range []string{"user", "assistant", "toolResult"} {
			if bytes.Contains(line, []byte(`"message":{"role":"`+role+`"`)) {
				kinds[role]++
			}
		}
		if bytes.Contains(line, []byte(`"role":"toolResult"`)) {
			results += len(line)
			escapes += len(escape.FindAll(line, -1))
		}
	}
	slices.Sort(sizes)
	n := len(sizes)
	for _, c := range []struct {
		what           string
		got, low, high int
	}{
		{"mean", len(log) / n, 1550, 1900},
		{"median", sizes[n/2], 550, 950},
		{"nine of ten", sizes[n*9/10], 1800, 4200},
		{"largest", sizes[n-1], 25_000, 120_000},
		{"bytes for an escape in tool results", results / escapes, 25, 42},
		{"prompts in 1,000", kinds["user"] * 1000 / n, 40, 100},
		{"assistant messages in 1,000", kinds["assistant"] * 1000 / n, 420, 520},
		{"tool results in 1,000", kinds["toolResult"] * 1000 / n, 360, 480},
	} {
		if c.got < c.low || c.got > c.high {
			t.Errorf("%s: %d, want %d to %d", c.what, c.got, c.low, c.high)
		}
	}
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	o := TreeOptions{Seed: 4, Sessions: 60, Bytes: 1_500_000, Folders: 5}
	if err := Tree(dir, o); err != nil {
		t.Fatal(err)
	}
	sum, count, folders := int64(0), 0, map[string]bool{}
	err := filepath.WalkDir(filepath.Join(dir, "sessions"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		log, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		records := parse(t, log)
		header, last := records[0], records[len(records)-1]
		folder := filepath.Base(filepath.Dir(name))
		if want := "--" + strings.ReplaceAll(header.Cwd[1:], "/", "-") + "--"; folder != want {
			t.Errorf("%s holds a session of %s", folder, header.Cwd)
		}
		if !strings.HasSuffix(name, "_"+header.ID+".jsonl") {
			t.Errorf("%s holds the session %s", name, header.ID)
		}
		if !info.ModTime().Equal(last.Timestamp) {
			t.Errorf("%s is of %v, its last entry of %v", name, info.ModTime(), last.Timestamp)
		}
		sum, count, folders[folder] = sum+info.Size(), count+1, true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count != o.Sessions || len(folders) != o.Folders || math.Abs(float64(sum-o.Bytes)) > 0.02*float64(o.Bytes) {
		t.Errorf("%d sessions in %d folders, %d bytes; want %+v", count, len(folders), sum, o)
	}
	if err := Tree(dir, o); err == nil {
		t.Error("a second time into the same folder: no error")
	}
	if err := Tree(t.TempDir(), TreeOptions{Sessions: 10, Bytes: 100}); err == nil {
		t.Error("ten sessions in 100 bytes: no error")
	}
}

type fullDisk struct{ room int }

var errFull = errors.New("full")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	for _, room := range []int{0, 600_000} {
		if err := Write(&fullDisk{room}, Options{Bytes: 2_000_000}); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	const size = 10_000_000
	b.SetBytes(size)
	for b.Loop() {
		if err := Write(&fullDisk{math.MaxInt}, Options{Seed: 1, Bytes: size}); err != nil {
			b.Fatal(err)
		}
	}
}
