package find

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// TestForkedRollout: a rollout of Codex that continues another one begins with the entries of that one, with offsets in the other file.
// Each entry is found in the file that has its record, and only there.
func TestForkedRollout(t *testing.T) {
	t.Parallel()
	const base, fork = "019cab00-0000-7000-8000-00000000000a", "019cab00-0000-7000-8000-00000000000b"
	d := newDesk(t)
	line := func(n int, typ, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-03-02T14:%02d:00.000Z","ordinal":%d,"type":%q,"payload":%s}`+"\n", n, n, typ, payload)
	}
	meta := func(n int, id, more string) string {
		return line(n, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":"2026-03-02T14:00:00.000Z","cwd":"/p","originator":"codex_cli_rs",`+
			`"cli_version":"0.166.0","source":"cli","history_mode":"paginated"%s}`, id, more))
	}
	// said returns a prompt with a word of its own. Records of many lengths have offsets that interleave with those of the other file.
	said := func(word string, n int) string {
		return line(n, "response_item", fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":"%s%d and %s"}]}`,
			word, n, strings.Repeat("more ", n*n%37)))
	}
	put := func(id, text string) string {
		path := d.Put(".codex/sessions/2026/03/02/rollout-2026-03-02T14-00-00-"+id+".jsonl", text)
		d.touch(path)
		return path
	}
	const shared, last = 30, 50
	kept := meta(0, base, "")
	for n := 1; n < shared; n++ {
		kept += said("heron", n)
	}
	put(base, kept+said("left", shared))
	own := meta(shared, fork, fmt.Sprintf(`,"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":%d}`, base, shared, len(kept)))
	for n := shared + 1; n < last; n++ {
		own += said("plover", n)
	}
	put(fork, own)
	f := d.finder(nil)
	other := func(ctx context.Context, row *place.Row) (*logtree.Log, func()) {
		b, err := f.m.Open(row.Source.Root.Sessions)
		d.Must(err)
		log, err := f.m.OpenLog(ctx, place.Location{Backend: b, Name: row.Log.Name, Path: row.Path}, row.Dialect)
		d.Must(err)
		log.At.Generation = "another" // so that the log is searched as a whole
		return log, func() { log.Close() }
	}
	for name, opt := range map[string]Options{"by record": {}, "as a whole": {Open: other}} {
		found := func(word, in string) {
			t.Helper()
			hits := d.search(f, word, opt).Hits
			if len(hits) != 1 || string(hits[0].Session.ID) != in || !strings.HasPrefix(hits[0].Snippet, word+" ") {
				t.Errorf("%s: %s has %d hits: %+v", name, word, len(hits), hits)
			}
		}
		for n := 1; n < shared; n++ {
			found(fmt.Sprint("heron", n), base)
		}
		for n := shared + 1; n < last; n++ {
			found(fmt.Sprint("plover", n), fork)
		}
		if n := len(d.search(f, "and", opt).Hits); n != last-1 {
			t.Errorf("%s: %d hits in all; want %d", name, n, last-1)
		}
	}
}
