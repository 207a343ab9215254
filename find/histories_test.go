package find

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// TestCatalogueHistories: whatever happens to the files, a catalogue that is brought up to date equals a new one.
func TestCatalogueHistories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := soaktest.Begin(t)
			h := history{desk: newDesk(t), r: rand.New(rand.NewPCG(c.Seed(seed), 7)), text: map[string]string{}}
			cache := t.TempDir()
			s := h.kept(cache)
			for round := range c.Rounds(soaktest.Part(45, 20), 45) {
				for range 1 + h.r.IntN(3) {
					h.step()
				}
				if h.r.IntN(3) == 0 {
					s = h.kept(cache)
				}
				want, got := h.look(h.finder(nil)), h.look(s)
				if diff := difftest.Diff(want, got); diff != "" {
					t.Fatalf("round %d, after %s (-anew +up to date):\n%s", round, strings.Join(h.done, ", "), diff)
				}
				h.done = nil
			}
		})
	}
}

// history does random things to files.
type history struct {
	*desk
	r    *rand.Rand
	text map[string]string // content of each file
	ids  int
	done []string
}

func (h *history) name() string { return fmt.Sprintf("-p/%d.jsonl", h.r.IntN(5)) }

// entry makes an entry. Its parent is the last one of the file by default.
func (h *history) entry(content, kind string) string {
	h.ids++
	parent := "null"
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	pick := len(lines) - 1
	if kind == "branch" {
		pick = h.r.IntN(len(lines))
	}
	if i := strings.Index(lines[pick], `"id":"e`); i >= 0 {
		parent = lines[pick][i+5:][:10]
	}
	id := fmt.Sprintf("e%07d", h.ids)
	if kind == "again" && parent != "null" {
		id = lines[1+h.r.IntN(len(lines)-1)]
		if i := strings.Index(id, `"id":"e`); i >= 0 {
			id = id[i+6:][:8]
		} else {
			id = "e0000000"
		}
	}
	front := fmt.Sprintf(`"id":"%s","parentId":%s,"timestamp":"2026-05-01T10:%02d:00.000Z"`, id, parent, h.ids%60)
	switch kind {
	case "name":
		return fmt.Sprintf(`{"type":"session_info",%s,"name":"%s"}`, front, []string{"", "called so"}[h.r.IntN(2)]) + "\n"
	case "label":
		return fmt.Sprintf(`{"type":"label",%s,"targetId":%s,"label":"%s"}`, front, parent, []string{"", "here"}[h.r.IntN(2)]) + "\n"
	case "compaction":
		return fmt.Sprintf(`{"type":"compaction",%s,"summary":"s","shortSummary":"short %d","firstKeptEntryId":%s}`, front, h.ids, parent) + "\n"
	case "assistant":
		return fmt.Sprintf(`{"type":"message",%s,"message":{"role":"assistant","provider":"p","model":"m%d","content":[{"type":"text","text":"%s"}],`+
			`"usage":{"input":%d,"output":2,"cost":{"total":0.25}}}}`, front, h.ids%4, h.words(), h.ids) + "\n"
	}
	return fmt.Sprintf(`{"type":"message",%s,"message":{"role":"user","content":"%s"}}`, front, h.words()) + "\n"
}

func (h *history) words() string {
	var b strings.Builder
	for range h.r.IntN(400) * h.r.IntN(4) {
		fmt.Fprintf(&b, "word%d ", h.r.IntN(5000))
	}
	return b.String()
}

// step does one random thing.
func (h *history) step() {
	name := h.name()
	content, there := h.text[name]
	if !there {
		content = fmt.Sprintf(header, name[3:4]+"0000000", []string{"", `,"title":"titled"`}[h.r.IntN(2)])
		for range h.r.IntN(60) {
			content += h.entry(content, "assistant")
		}
		h.put(name, content, "created")
		return
	}
	kinds := []string{"user", "assistant", "user", "assistant", "user", "assistant", "name", "label", "compaction", "branch", "again"}
	switch op := h.r.IntN(20); {
	case op < 13:
		kind := kinds[h.r.IntN(len(kinds))]
		content += h.entry(content, kind)
		h.put(name, content, kind)
	case op == 13:
		h.put(name, content+`{"type":"mess`, "torn")
	case op == 14:
		h.put(name, content+"garbage\n", "garbage")
	case op == 15: // replaced by another file
		if err := os.Remove(h.path(name)); err != nil {
			h.Fatal(err)
		}
		delete(h.text, name)
		h.put(name, fmt.Sprintf(header, "f0000000", "")+h.entry("", "user"), "replaced")
	case op == 16: // cut at a line
		lines := strings.SplitAfter(content, "\n")
		h.put(name, strings.Join(lines[:1+h.r.IntN(len(lines))], ""), "cut")
	case op == 17: // changed in place, with the same length
		h.put(name, strings.Replace(content, `"cwd":"/p"`, `"cwd":"/q"`, 1), "edited")
	case op == 18:
		if err := os.Remove(h.path(name)); err != nil {
			h.Fatal(err)
		}
		delete(h.text, name)
		h.done = append(h.done, "removed "+name)
	case op == 19:
		to := h.name()
		if err := os.Rename(h.path(name), h.path(to)); err != nil {
			h.Fatal(err)
		}
		delete(h.text, name)
		h.text[to] = content
		h.done = append(h.done, "renamed "+name)
	}
}

func (h *history) put(name, content, what string) {
	h.text[name] = content
	h.write(name, content)
	h.done = append(h.done, what+" "+name)
}
