package watch_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/watch"
)

const garden = ".omp/agent/sessions/garden/"

func sessionLine(id string) string {
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden"}`+"\n", id)
}

func messageLine(id string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"2026-02-16T10:00:00.000Z","message":{"role":"user","content":"this is %s"}}`+"\n", id, id)
}

func TestTellsWhatIsAppended(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1"))
		v := start(h, watch.Options{})
		v.want("start 1")
		h.add(garden+"a.jsonl", messageLine("a2")+messageLine("a3"))
		v.want("a a2")
		c := v.next()
		if describe(c) != "a a3" || c.Header.ID != "a" || c.Prompt != "this is a1" || c.Entry.Kind != session.KindMessage || c.Entry.Role != session.RoleUser {
			t.Errorf("told %+v", c)
		}
		parts, err := c.Parts()
		if err != nil || len(parts) != 1 || parts[0].(session.Text).Text != "this is a3" {
			t.Errorf("parts %v, error %v", parts, err)
		}
		if raw, err := c.Entry.Raw(); err != nil || string(raw)+"\n" != messageLine("a3") {
			t.Errorf("raw %q, error %v", raw, err)
		}
		if at, ok := c.Time().Time(); !ok || at.Year() != 2026 {
			t.Errorf("time %v", at)
		}
	})
}

// TestPromptIsTheUsers: text that an agent wrote in the user's name is not the session's prompt.
func TestPromptIsTheUsers(t *testing.T) {
	said := func(text string) string {
		return fmt.Sprintf(`{"timestamp":"2026-02-16T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}`+"\n", text)
	}
	h := newHome(t)
	const id = "0198e028-51a9-7379-857f-23f1cb024a0c"
	name := ".codex/sessions/2026/02/16/rollout-2026-02-16T10-00-00-" + id + ".jsonl"
	h.Old(name, `{"timestamp":"2026-02-16T10:00:00.000Z","type":"session_meta","payload":{"id":"`+id+`","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden","originator":"o","cli_version":"0.166.0"}}`+"\n"+
		said("<environment_context>\n  <cwd>/garden</cwd>\n</environment_context>")+said("plan the beds"))
	v := view(h, watch.Options{}, false)
	v.want("start 1")
	h.add(name, said("and the paths"))
	if c := v.next(); c.Prompt != "plan the beds" {
		t.Errorf("the prompt is %q", c.Prompt)
	}
}

func TestFollowsNewSessions(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"a.jsonl", sessionLine("a"))
		v := start(h, watch.Options{})
		v.want("start 1")
		h.Old(garden+"b.jsonl", sessionLine("b")+messageLine("b1"))
		v.want("b session", "b b1")
		h.Old(".omp/agent/sessions/meadow/deep/c.jsonl", sessionLine("c")+messageLine("c1")) // in new folders
		v.want("c session", "c c1")
		h.add(".omp/agent/sessions/meadow/deep/c.jsonl", messageLine("c2"))
		v.want("c c2")
		h.Old(garden+"note.txt", "not a session")
		h.Old(garden+"empty.jsonl", "")
		h.add(garden+"a.jsonl", messageLine("a1"))
		v.want("a a1")
	})
}

// A log that was asked for and cannot be read is reported at the start, once; other logs may never be needed.
func TestTellsThatItCannotBeRead(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"a.jsonl", sessionLine("a"))
		h.Old(garden+"b.jsonl", strings.Repeat("not a session\n", logtree.EnoughToDetect))
		v := start(h, watch.Options{Path: h.At(garden + "b.jsonl")})
		v.want("start 1")
		if c := v.next(); c.Kind != watch.KindProblem || !errors.Is(c.Err, logtree.ErrNotSession) {
			t.Errorf("told %s, not that the log cannot be read", describe(c))
		}
	})
}

// The folder of an agent that was never used does not exist. It is found when it appears.
func TestBeginsWithNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	v := view(h, watch.Options{}, true)
	v.want("start 0")
	h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1"))
	v.want("a session", "a a1")
}

func TestWaitsForWholeRecords(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		half := len(messageLine("a1")) / 2
		h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1")[:half])
		v := start(h, watch.Options{})
		v.want("start 1")
		h.add(garden+"a.jsonl", messageLine("a1")[half:])
		v.want("a a1")
		h.add(garden+"a.jsonl", strings.TrimSuffix(messageLine("a2"), "\n")) // whole, but its newline is missing
		v.want("a a2")
		h.add(garden+"a.jsonl", "\n"+messageLine("a3")[:half])
		h.add(garden+"a.jsonl", messageLine("a3")[half:])
		v.want("a a3")
		if c := v.again("a4"); c.Entry.Line != 5 {
			t.Errorf("line %d, want 5", c.Entry.Line)
		}
		// A header that comes in pieces.
		h.Old(garden+"b.jsonl", sessionLine("b")[:20])
		h.add(garden+"b.jsonl", sessionLine("b")[20:]+messageLine("b1"))
		v.want("b session", "b b1")
	})
}

// A very long record that comes in many pieces is reported when it has ended.
func TestLongRecord(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"a.jsonl", sessionLine("a"))
		h.Old(garden+"b.jsonl", sessionLine("b"))
		v := start(h, watch.Options{})
		v.want("start 2")
		long := strings.Replace(messageLine("a1"), "this is a1", strings.Repeat("long ", 1<<20), 1)
		for i := 0; len(long) > 0; i++ {
			n := min(len(long), 300_000)
			h.add(garden+"a.jsonl", long[:n])
			if long = long[n:]; len(long) > 0 { // so that each piece is seen
				h.add(garden+"b.jsonl", messageLine(fmt.Sprint("b", i)))
				v.want(fmt.Sprint("b b", i))
			}
		}
		v.want("a a1")
		v.again("a2")
	})
}

// A torn record that an append moves aside does not make the log a replaced one.
func TestTornEndMovedAway(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1")+`{"type":"mess`)
		v := start(h, watch.Options{})
		v.want("start 1")
		h.Must(os.Truncate(h.At(garden+"a.jsonl"), int64(len(sessionLine("a")+messageLine("a1")))))
		h.add(garden+"a.jsonl", messageLine("a2"))
		v.want("a a2")
	})
}

func TestReplacedTruncatedRemoved(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		name := garden + "a.jsonl"
		h.Old(name, sessionLine("a")+messageLine("a1")+messageLine("a2"))
		v := start(h, watch.Options{})
		v.want("start 1")
		h.swap(name, sessionLine("a")+messageLine("a2")+messageLine("a3"))
		v.want("a replaced", "a a3")
		h.Must(os.Truncate(h.At(name), int64(len(sessionLine("a")+messageLine("a2")))))
		v.want("a truncated")
		v.again("a4")
		h.add(name, messageLine("a3")) // it was reported before
		v.again("a5")
		h.Must(os.Remove(h.At(name)))
		v.want("a removed")
		h.Old(name, sessionLine("a")+messageLine("a1")+messageLine("a5")+messageLine("a6"))
		v.want("a session", "a a6")
		h.Must(os.Truncate(h.At(name), 0))
		v.want("a truncated")
		h.Old(name, sessionLine("a")+messageLine("a6")+messageLine("a7"))
		v.want("a session", "a a7")
	})
}

// A folder is removed and made again.
func TestFolderRemoved(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1"))
		v := start(h, watch.Options{})
		v.want("start 1")
		h.Must(os.RemoveAll(h.At(garden)))
		v.want("a removed")
		h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1")+messageLine("a2"))
		v.want("a session", "a a2")
		v.again("a3")
	})
}

// A program that rotates logs appends to one, moves it away and begins another. The last appended entry is reported.
func TestRotation(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	name := garden + "a.jsonl"
	h.Old(name, sessionLine("a")+messageLine("a1"))
	v := view(h, watch.Options{}, true)
	v.want("start 1")
	h.add(name, messageLine("a2"))
	h.Must(os.Rename(h.At(name), h.At(name+".1")))
	h.Old(name, sessionLine("b")+messageLine("b1"))
	v.want("a a2", "a replaced", "a session", "a b1")
	h.add(name, messageLine("b2"))
	h.Must(os.Remove(h.At(name)))
	v.want("a b2", "a removed")
}

// If logs are moved to names that are watched, too, no entry is reported twice: neither those of the first session, nor those of a session
// that took its place.
func TestRotationInSight(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1"))
		v := start(h, watch.Options{})
		v.want("start 1")
		h.swap(garden+"a.jsonl", sessionLine("b")+messageLine("b1"))
		v.want("a replaced", "a session", "a b1")
		// As if a program saved the whole session and moved it away at once.
		h.Old(garden+"old", sessionLine("b")+messageLine("b1")+messageLine("b2"))
		h.swap(garden+"a.jsonl", sessionLine("c")+messageLine("c1"))
		v.want("a replaced", "a session", "a c1")
		h.Must(os.Rename(h.At(garden+"old"), h.At(garden+"old.jsonl")))
		v.want("old session", "old b2")
	})
}

// A session that is moved is followed under its new name.
func TestMoved(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1"))
		v := start(h, watch.Options{})
		v.want("start 1")
		v.again("a2")
		h.add(garden+"a.jsonl", "")
		h.Must(os.Rename(h.At(garden+"a.jsonl"), h.At(garden+"z.jsonl")))
		v.want("a removed", "z session")
		h.add(garden+"z.jsonl", messageLine("a3"))
		v.want("z a3")
	})
}

// Newer programs change titles in place.
func TestTitleSlot(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		slot := func(title string) string { return fmt.Sprintf(`{"type":"title","title":"%-20s"}`+"\n", title) }
		h.Old(garden+"a.jsonl", slot("one")+sessionLine("a")+messageLine("a1"))
		v := start(h, watch.Options{})
		v.want("start 1")
		f, err := os.OpenFile(h.At(garden+"a.jsonl"), os.O_WRONLY, 0)
		h.Must(err)
		_, err = f.WriteAt([]byte(slot("two")), 0)
		h.Must(errors.Join(err, f.Close()))
		c := v.next()
		if describe(c) != "a session" || strings.TrimSpace(c.Title) != "two" {
			t.Errorf("told %s, title %q", describe(c), c.Title)
		}
		v.again("a2")
	})
}

func TestOneSession(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		path := h.Old("elsewhere/a.jsonl", sessionLine("a")+messageLine("a1"))
		h.Old("elsewhere/b.jsonl", sessionLine("b"))
		v := start(h, watch.Options{Path: path})
		v.want("start 1")
		h.add("elsewhere/b.jsonl", messageLine("b1"))
		h.add("elsewhere/a.jsonl", messageLine("a2"))
		v.want("a a2")
		h.Must(os.Remove(path))
		v.want("a removed")
		h.Old("elsewhere/a.jsonl", sessionLine("a")+messageLine("a3"))
		v.want("a session", "a a3")
	})
	h := newHome(t)
	v := view(h, watch.Options{Path: h.At("nothing.jsonl")}, true)
	<-v.ended
	if !errors.Is(v.err, backend.ErrNotExist) {
		t.Errorf("error %v", v.err)
	}
}

func TestOneDirectory(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		other := strings.Replace(sessionLine("b"), "/garden", "/meadow", 1)
		h.Old(garden+"a.jsonl", sessionLine("a"))
		h.Old(garden+"b.jsonl", other)
		v := start(h, watch.Options{CWD: "/garden"})
		v.want("start 1")
		h.add(garden+"b.jsonl", messageLine("b1"))
		h.Old(garden+"c.jsonl", other+messageLine("c1"))
		h.add(garden+"c.jsonl", messageLine("c2"))
		v.again("a1")
		h.Old(garden+"d.jsonl", sessionLine("d")+messageLine("d1"))
		v.want("d session", "d d1")
	})
}

func TestLastEntries(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.Old(garden+"a.jsonl", sessionLine("a")+messageLine("a1")+messageLine("a2"))
	h.Old(garden+"b.jsonl", sessionLine("b")+strings.ReplaceAll(messageLine("b1"), "10:00:00", "10:00:01")+messageLine("b2"))
	v := view(h, watch.Options{Last: 3}, true)
	v.want("start 2", "a a2", "b b1", "b b2")
	h.add(garden+"a.jsonl", messageLine("a3"))
	v.want("a a3")

	v = view(h, watch.Options{Last: watch.AllEntries}, true)
	v.want("start 2", "b session", "b b1", "b b2", "a session", "a a1", "a a2", "a a3")
	v.again("a4")
}

// A problem with written data is reported once and ends nothing.
func TestProblems(t *testing.T) {
	bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
		h := newHome(t)
		h.Old(garden+"a.jsonl", sessionLine("a")+"damaged before\n")
		v := start(h, watch.Options{})
		v.want("start 1")
		h.add(garden+"a.jsonl", "{damaged\n"+messageLine("a1"))
		c := v.next()
		var p *session.Problem
		if c.Kind != watch.KindProblem || !errors.As(c.Err, &p) || p.Line != 3 {
			t.Fatalf("told %s", describe(c))
		}
		v.want("a a1")
		h.Old(garden+"b.jsonl", strings.Repeat("no session\n", 8))
		if c := v.next(); c.Kind != watch.KindProblem || !errors.Is(c.Err, logtree.ErrNotSession) {
			t.Fatalf("told %s", describe(c))
		}
		v.again("a2")
	})
}
