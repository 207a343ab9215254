//go:build unix

package view

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/tui/look"
)

// BenchmarkScroll measures a key and the next frame, including all loading, in sessions that are large in some way.
func BenchmarkScroll(b *testing.B) {
	for _, l := range []struct {
		name string
		make func() *treeline.Session
		keys []string
	}{
		{"entries", func() *treeline.Session { return generated(b, gen.Options{Seed: 1, Entries: 100_000, Branches: 200}) },
			[]string{"j", "k", "pgdown", "pgup", "J", "ctrl+e", "tab j", "tab pgdown", "E pgdown", "2 pgdown"}},
		{"text", func() *treeline.Session {
			return log(b, said("a", "", "user", strings.Repeat("Some *words* of `prose` in a long line of text. ", 200_000)))
		}, []string{"g e pgdown", "g e j", "G e pgup"}},
		{"line", func() *treeline.Session { return log(b, said("a", "", "user", strings.Repeat("x", 10_000_000))) }, []string{"g e pgdown"}},
		{"marks", func() *treeline.Session {
			return log(b, said("a", "", "user", "z"+strings.Repeat("\u0301", 5_000_000)))
		}, []string{"g e pgdown"}},
		{"diff", func() *treeline.Session { return bigDiff(b, 100_000) }, []string{"e pgdown", "4 pgdown"}},
		{"branches", func() *treeline.Session { return star(b, 10_000) }, []string{"j", "tab j", "tab pgdown", "]"}},
		{"depth", func() *treeline.Session { return comb(b, 10_000) }, []string{"k", "tab k", "tab pgup", "["}},
		{"nested", func() *treeline.Session {
			return log(b, said("a", "", "user", strings.Repeat("> - ", 5000)+"deep\n\n"+strings.Repeat("* ", 20_000)+"\n"+strings.Repeat("[", 20_000)))
		}, []string{"g e pgdown"}},
	} {
		b.Run(l.name, func(b *testing.B) {
			path := l.make().Path()
			for _, keys := range l.keys {
				b.Run(strings.ReplaceAll(keys, " ", "-"), func(b *testing.B) {
					r := ride(b, openFile(b, path), Options{Palette: look.Colours(true)}, 120, 40)
					all := strings.Fields(keys)
					r.press("G")
					if all[len(all)-1] != "k" && all[len(all)-1] != "pgup" && all[len(all)-1] != "[" {
						r.press("g")
					}
					r.press(all[:len(all)-1]...)
					key := all[len(all)-1]
					begin := cpu()
					worst := time.Duration(0)
					for b.Loop() {
						before := cpu()
						r.press(key)
						worst = max(worst, cpu()-before)
					}
					b.ReportMetric(float64((cpu()-begin).Microseconds())/1000/float64(b.N), "cpu-ms/frame")
					b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
				})
			}
		})
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bigDiff returns a session that replaces a file of n lines.
func bigDiff(b testing.TB, n int) *treeline.Session {
	var old, now strings.Builder
	for n := range n {
		fmt.Fprintf(&old, "line %d of the old text\n", n)
		fmt.Fprintf(&now, "line %d of the new text\n", n)
	}
	call := `{"type":"message","id":"b","parentId":"a","timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"assistant","content":[` +
		`{"type":"toolCall","id":"t","name":"edit","arguments":{"path":"a.txt","oldText":` + quote(old.String()) + `,"newText":` + quote(now.String()) + `}}],"stopReason":"toolUse"}}`
	result := `{"type":"message","id":"c","parentId":"b","timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"toolResult","toolCallId":"t","content":[{"type":"text","text":"done"}]}}`
	return log(b, said("a", "", "user", "Do it."), call, result)
}

// star returns a session with many branches after one entry.
func star(b testing.TB, n int) *treeline.Session {
	lines := []string{said("a", "", "user", "Begin.")}
	for i := range n {
		lines = append(lines, said(fmt.Sprintf("b%d", i), "a", "assistant", fmt.Sprintf("Way %d.", i)))
	}
	return log(b, lines...)
}

// comb returns a session in which a branch begins after each entry.
func comb(b testing.TB, n int) *treeline.Session {
	lines := []string{said("a0", "", "user", "Begin.")}
	for i := range n {
		lines = append(lines, said(fmt.Sprintf("b%d", i), fmt.Sprintf("a%d", i), "user", "Aside."), said(fmt.Sprintf("a%d", i+1), fmt.Sprintf("a%d", i), "user", "On."))
	}
	return log(b, lines...)
}

// A frame of a session of 100,000 entries, or with a text of ten megabytes, takes only the memory for what it shows: the session is not
// wrapped as a whole. Benchmarks measure the time.
func TestFrameIsCheap(t *testing.T) {
	most := func(all int) int { return soaktest.Part(all, all/2) } // laying out everything exceeds the limit in either case
	long := log(t, talk(most(50_000))...)
	for _, c := range []struct {
		name string
		make func() *treeline.Session
		keys string // the last key is pressed again and again
	}{
		{"entries", func() *treeline.Session { return openFile(t, long.Path()) }, "g pgdown"},
		{"rows", func() *treeline.Session { return openFile(t, long.Path()) }, "tab g pgdown"},
		{"text", func() *treeline.Session {
			return log(t, said("a", "", "user", strings.Repeat("Some words. ", most(900_000))))
		}, "g e pgdown"},
		{"branches", func() *treeline.Session { return star(t, 10_000) }, "tab g pgdown"},
		{"diff", func() *treeline.Session { return bigDiff(t, 5_000) }, "4 pgdown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ride(t, c.make(), Options{Palette: look.Colours(true)}, 120, 40)
			keys := strings.Fields(c.keys)
			last := len(keys) - 1
			r.press(keys[:last]...)
			const frames = 60
			before, top, row := allocated(), r.v.pane.top, r.v.tree.cur
			for range frames {
				r.press(keys[last])
			}
			if per := (allocated() - before) / frames; per > 4<<20 {
				t.Errorf("a frame takes %d bytes, want at most 4 MB", per)
			}
			if r.v.pane.top == top && r.v.tree.cur == row {
				t.Error("nothing was scrolled")
			}
		})
	}
}

// allocated returns the number of bytes allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
