package convert_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// A log that continues another one is converted as a whole. Converted back, it is the same: it has only its own records, and names the
// other log. This holds even if its own program refuses the log.
func TestConvertFork(t *testing.T) {
	t.Parallel()
	t.Run("good", func(t *testing.T) { t.Parallel(); convertFork(t, `,"cli_version":"0.166.0"`) })
	t.Run("refused", func(t *testing.T) { t.Parallel(); convertFork(t, "") })
}

// convertFork converts a fork whose header has additional members.
func convertFork(t *testing.T, more string) {
	const base, fork = "019cab00-0000-7000-8000-00000000000a", "019cab00-0000-7000-8000-00000000000b"
	line := func(n int, typ, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-03-02T14:00:%02d.000Z","ordinal":%d,"type":"%s","payload":%s}`+"\n", n, n, typ, payload)
	}
	meta := func(id, more string) string {
		return fmt.Sprintf(`{"id":"%s","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond","originator":"codex_cli_rs","source":"cli","history_mode":"paginated"%s}`, id, more)
	}
	said := func(role, kind, text string) string {
		return fmt.Sprintf(`{"type":"message","role":"%s","content":[{"type":"%s","text":"%s"}]}`, role, kind, text)
	}
	w := world.New(t, withCodelia)
	at := func(id string) string {
		return filepath.Join(".codex", "sessions", "2026", "03", "02", "rollout-2026-03-02T14-00-00-"+id+".jsonl")
	}
	shared := line(0, "session_meta", meta(base, `,"cli_version":"0.166.0"`)) + line(1, "response_item", said("user", "input_text", "How deep?")) +
		line(2, "response_item", said("assistant", "output_text", "Two metres."))
	w.Put(at(base), shared+line(3, "response_item", said("user", "input_text", "Not this.")))
	text := line(3, "session_meta", meta(fork, more+fmt.Sprintf(`,"history_base":{"thread_id":"%s","end_ordinal_exclusive":3,"end_byte_offset":%d}`, base, len(shared)))) + line(4, "response_item", said("user", "input_text", "And now?")) +
		line(5, "response_item", said("assistant", "output_text", "Deeper."))
	path := w.Put(at(fork), text)
	for _, to := range targets() {
		if to.Name() == "codex" {
			continue
		}
		src, err := w.Open(t.Context(), path, store.OpenOptions{})
		w.Must(err)
		there, report, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: to, Dir: t.TempDir(), Write: w.Write(store.WriteOptions{})})
		w.Must(err)
		var said []string
		for _, s := range seenAt(w, there, there.Leaf()) {
			said = append(said, s.forms[0])
		}
		if got := strings.Join(said, " "); got != "text How deep? text Two metres. text And now? text Deeper." {
			t.Errorf("%s: the model sees %s", to.Name(), got)
		}
		if !report.Lossless {
			t.Errorf("%s: %+v; want report.Lossless", to.Name(), report.Losses)
		}
		w.Must(src.Close())
		w.Must(there.Close())
		// This is in the agent's folder, where the agent finds the other log.
		back, _, err := convert.File(t.Context(), w.Store, there.Path(), convert.Options{To: w.Format("codex"), Dir: filepath.Join(filepath.Dir(path), to.Name()), Write: w.Write(store.WriteOptions{})})
		if err != nil {
			t.Errorf("%s and back: %v", to.Name(), err)
			continue
		}
		if got := bytesOf(w, back); got != text {
			t.Errorf("%s and back:\n%s", to.Name(), got)
		}
		w.Must(back.Close())
	}
}

// A session that its own program refuses to continue is converted nevertheless: the model sees what it says.
func TestConvertRefused(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	talk := newTalk(2, true)
	lines := strings.Split(talk.claude(), "\n")
	last := regexp.MustCompile(`"timestamp":"[^"]*"`)
	k := len(lines) - 1
	for !strings.Contains(lines[k], `"uuid"`) {
		k--
	}
	lines[k] = last.ReplaceAllString(lines[k], `"timestamp":5`)
	for agent, log := range map[string]string{
		"codex": strings.Replace(talk.codex(), `,"cli_version":"0.166.0"`, "", 1), "claude": strings.Join(lines, "\n"),
	} {
		path := w.Put("in/rollout-2026-03-02T14-00-00-019cab00-0000-7000-8000-00000000000a.jsonl", log)
		src := w.View(path, store.OpenOptions{Dialect: w.Format(agent)})
		if n := len(seenAt(w, src, src.Leaf())); n > 0 {
			t.Fatalf("%s shows %d pieces", agent, n)
		}
		for _, to := range soaktest.Share(t, targets(), 2) {
			if to.Name() == agent {
				continue
			}
			there := crossed(w, path, src.Dialect(), to, folder())
			if n := sendable(w, there, agent+" → "+to.Name()); n < 5 {
				t.Errorf("%s → %s: the model sees %d messages", agent, to.Name(), n)
			}
			w.Must(there.Close())
			back := crossed(w, there.Path(), to, src.Dialect(), folder())
			if got := bytesOf(w, back); got != log {
				t.Errorf("%s → %s and back:\n%s", agent, to.Name(), got)
			}
			w.Must(back.Close())
		}
	}
}
