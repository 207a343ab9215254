package store_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// long returns a text that omp cuts. It repeats one character, so that texts can be told apart.
func long(c string) string { return strings.Repeat(c, 600_000) }

// short names texts by their first character and their length.
func short(texts []string) (list []string) {
	for _, t := range texts {
		list = append(list, fmt.Sprint(t[:1], len(t)))
	}
	return list
}

// turn returns an answer with a long text and with what only a running turn needs.
func turn(c string) []byte {
	return fmt.Appendf(nil, `{"role":"assistant","content":%q,"partialJson":"{"}`, long(c))
}

// An entry is whole in the session that appended it, whatever else happens to the log; the log has it as the agent stores it. When the log
// is opened again, the context is what the agent would send, with a Problem, and everything that shows entries is whole.
func TestWholeInMemory(t *testing.T) {
	for name, do := range map[string]func(d *desk, s *store.Session){
		"nothing": func(*desk, *store.Session) {},
		"a name":  func(d *desk, s *store.Session) { d.Must(s.Rename(d.Context(), "n")) },
		"a move":  func(d *desk, s *store.Session) { d.Must(s.Move(d.Context(), "/elsewhere")) },
		"a fork":  func(d *desk, s *store.Session) { d.Must(s.Fork(d.Context())) },
		"a branched session": func(d *desk, s *store.Session) {
			d.Must(s.BranchedSession(d.Context(), s.Leaf()))
		},
		"another writer": func(d *desk, s *store.Session) {
			f, err := os.OpenFile(s.Path(), os.O_APPEND|os.O_WRONLY, 0)
			d.Must(err)
			defer f.Close()
			_, err = f.WriteString(world.Said("theirs", "", "x") + "\n")
			d.Must(err)
			_, err = s.AppendThinkingLevelChange(d.Context(), "high")
			d.Must(err)
		},
	} {
		habits := []dialect.Defer{dialect.DeferNever}
		if name == "nothing" {
			habits = append(habits, dialect.DeferAssistant)
		}
		for _, habit := range habits {
			t.Run(name+"/"+string(habit), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: habit}})
				one := d.User(s, long("a"))
				if got := short(d.Texts(s)); fmt.Sprint(got) != "[a600000]" {
					t.Errorf("before the answer: %v", got)
				}
				_, err := s.Label(t.Context(), one, "start") // a branched session moves what follows the label
				d.Must(err)
				answer, err := s.AppendMessage(t.Context(), turn("b"))
				d.Must(err)
				do(d, s)
				wholeInMemory(d, s, answer.ID)
				cutOnDisk(d, s, answer.ID)
			})
		}
	}
}

// wholeInMemory checks the entries in the session that appended them.
func wholeInMemory(d *desk, s *store.Session, answer session.EntryID) {
	d.Helper()
	if got := short(d.Texts(s)); fmt.Sprint(got) != "[a600000 b600000]" {
		d.Errorf("the context in memory: %v", got)
	}
	e, err := s.Tree().Get(answer)
	d.Must(err)
	body, err := e.Body()
	d.Must(err)
	record, err := s.EntryJSON(d.Context(), e)
	d.Must(err)
	whole, _, err := s.Whole(d.Context(), e)
	d.Must(err)
	for what, m := range map[string][]byte{
		"Body": body.(session.Message).JSON, "EntryJSON": rawjson.Get(record, "message"), "Whole": rawjson.Get(whole, "message"),
	} {
		if len(rawjson.Str(m, "content")) != 600_000 || rawjson.Str(m, "partialJson") != "{" {
			d.Errorf("%s: %.80s… has %d bytes", what, m, len(m))
		}
	}
	d.MemoryEqualsDisk(s)
}

// cutOnDisk checks the entries in the log.
func cutOnDisk(d *desk, s *store.Session, answer session.EntryID) {
	d.Helper()
	again := d.Closing(d.Open(d.Context(), s.Path(), store.OpenOptions{}))
	var told []session.Problem
	opt := store.ContextOptions{Problem: func(p session.Problem) { told = append(told, p) }, StripDangling: true}
	for _, m := range d.Messages(again, opt) {
		if len(rawjson.Str([]byte(m), "content")) != 500_000 || strings.Contains(m, "partialJson") {
			d.Errorf("the log has a message of %d bytes", len(m))
		}
	}
	if len(told) != 2 || told[0].Kind != session.ProblemCut || told[0].Line < 2 || !strings.Contains(told[1].Message, string(answer)) {
		d.Errorf("problems: %v", told)
	}
	told = nil
	opt.Whole = true
	for _, m := range d.Messages(again, opt) {
		if len(rawjson.Str([]byte(m), "content")) != 600_000 {
			d.Errorf("restored, a message has %d bytes", len(m))
		}
	}
	if len(told) > 0 {
		d.Errorf("problems: %v", told)
	}
	e, err := again.Tree().Get(answer)
	d.Must(err)
	record, err := again.EntryJSON(d.Context(), e)
	d.Must(err)
	if n := len(rawjson.Str(rawjson.Get(record, "message"), "content")); n != 600_000 {
		d.Errorf("EntryJSON has a text of %d bytes", n)
	}
}

// A text whose blob is gone stays cut, and a Problem says so.
func TestWholeWithoutBlob(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", never())
	d.User(s, long("a"))
	d.Must(os.RemoveAll(d.blobDir()))
	again := d.Closing(d.Open(t.Context(), s.Path(), store.OpenOptions{}))
	var told []session.Problem
	opt := store.ContextOptions{Whole: true, Problem: func(p session.Problem) { told = append(told, p) }}
	if got := d.Messages(again, opt); len(got) != 1 || len(got[0]) > 501_000 {
		t.Errorf("%d messages", len(got))
	}
	if len(told) != 1 || told[0].Kind != session.ProblemBlobMissing {
		t.Errorf("%v; want len(told) == 1, told[0].Kind == session.ProblemBlobMissing", told)
	}
}

// A tool call gets other arguments in an entry whose whole record is in memory.
func TestWholeWithOtherArguments(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", never())
	m := `{"role":"assistant","content":[{"type":"text","text":%q},{"type":"toolCall","id":"c1","partialJson":"{","arguments":{}}]}`
	_, err := s.AppendMessage(t.Context(), fmt.Appendf(nil, m, long("a")))
	d.Must(err)
	found, err := s.RewriteToolCallArguments(t.Context(), "c1", []byte(`{"a":1}`))
	d.Must(err)
	want := fmt.Sprintf(strings.Replace(m, "{}", `{"a":1}`, 1), long("a"))
	if got := d.Messages(s, store.ContextOptions{}); !found || len(got) != 1 || got[0] != want {
		t.Errorf("found %v, the message has %d bytes, want %d", found, len(got[0]), len(want))
	}
	d.MemoryEqualsDisk(s)
}

// Entries given to RewriteEntries are whole in memory, too, and the whole records of replaced entries are dropped.
func TestWholeOfRewritten(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", never())
	d.User(s, long("a"))
	d.Must(s.RewriteEntries(t.Context(), [][]byte{[]byte(world.Said("x", "", long("b")))}))
	if got := short(d.Texts(s)); fmt.Sprint(got) != "[b600000]" {
		t.Error(got)
	}
	d.Must(s.RewriteEntries(t.Context(), [][]byte{[]byte(world.Said("x", "", "c"))}))
	if got := short(d.Texts(s)); fmt.Sprint(got) != "[c1]" {
		t.Error(got)
	}
	d.MemoryEqualsDisk(s)
}
