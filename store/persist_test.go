package store_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/store"
)

const notice = "\n\n[Session persistence truncated large content]"

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// persisted appends a message and returns its record in the log.
func (d *desk) persisted(s *store.Session, m any) map[string]any {
	d.Helper()
	raw, err := json.Marshal(m)
	d.Must(err)
	_, err = s.AppendMessage(d.Context(), raw)
	d.Must(err)
	lines := d.ReadLines(s.Path())
	var entry map[string]any
	d.Must(json.Unmarshal([]byte(lines[len(lines)-1]), &entry))
	d.MemoryEqualsDisk(s)
	return entry
}

func (d *desk) blobDir() string { return filepath.Join(d.Home, ".omp", "agent", "blobs") }

func never() store.CreateOptions {
	return store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}}
}

// Strings of more than 500,000 UTF-16 units are cut between characters; the whole string goes to a blob that the entry names.
func TestPersistCuts(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", never())
	for name, test := range map[string]struct {
		text string
		kept int // units before the notice; -1: nothing is cut
	}{
		"exactly as long as may be":   {strings.Repeat("x", 500_000), -1},
		"one more":                    {strings.Repeat("x", 500_001), 500_000 - 47},
		"bytes are not units":         {strings.Repeat("ä", 499_999), -1},
		"surrogates count twice":      {strings.Repeat("😀", 250_000), -1},
		"surrogates, cut between two": {strings.Repeat("x", 1) + strings.Repeat("😀", 250_000), 500_000 - 47},
		"surrogates, cut in half":     {strings.Repeat("😀", 250_001), 500_000 - 48},
		"escapes are one each":        {strings.Repeat("\n", 499_999), -1},
	} {
		entry := d.persisted(s, map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": test.text}}})
		got := entry["message"].(map[string]any)["content"].([]any)[0].(map[string]any)["text"].(string)
		overflow, _ := entry["treelineOverflow"].(map[string]any)
		if test.kept < 0 {
			if got != test.text || overflow != nil {
				t.Errorf("%s: %d units were kept of %d", name, units(got), units(test.text))
			}
			continue
		}
		kept, cut := strings.CutSuffix(got, notice)
		if !cut || units(kept) != test.kept || !strings.HasPrefix(test.text, kept) {
			t.Errorf("%s: %d units kept, want %d", name, units(kept), test.kept)
		}
		ref, err := blob.ParseRef(fmt.Sprint(overflow["/message/content/0/text"]))
		d.Must(err)
		whole, err := os.ReadFile(filepath.Join(d.blobDir(), ref.Hex()))
		d.Must(err)
		if string(whole) != test.text {
			t.Errorf("%s: the blob holds %d bytes", name, len(whole))
		}
	}
}

func TestPersistWithoutOverflow(t *testing.T) {
	d := newDesk(t)
	opt := never()
	opt.Write.NoOverflow = true
	s := d.Begin("omp", opt)
	entry := d.persisted(s, map[string]any{"role": "user", "content": strings.Repeat("x", 500_001)})
	if entry["treelineOverflow"] != nil || d.Exists(d.blobDir()) {
		t.Error("kept what was not to be kept")
	}
	// pi keeps everything as it is.
	pi := d.Begin("pi", never())
	entry = d.persisted(pi, map[string]any{"role": "user", "partialJson": "p", "content": strings.Repeat("x", 500_001)})
	if m := entry["message"].(map[string]any); len(m["content"].(string)) != 500_001 || m["partialJson"] != "p" {
		t.Error("pi cuts nothing")
	}
}

// What only a running turn needs is removed, signatures stay, lines are counted again, other members stay as they are.
func TestPersistTidies(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", never())
	long := strings.Repeat("x", 600_000)
	lines := strings.Repeat("a\n", 300_000)
	m := fmt.Sprintf(`{"role":"assistant","n":1.50,"content":[{"type":"thinking","thinking":"t","thinkingSignature":%q},`+
		`{"type":"toolCall","id":"c","partialJson":"{","arguments":{"jsonlEvents":[1],"keep":1e3}}],"details":{"content":%q,"lineCount":7,"signature":"s"},`+
		`"short":{"content":"a\nb","lineCount":99}}`, long, lines)
	_, err := s.AppendMessage(t.Context(), []byte(m))
	d.Must(err)
	got := d.ReadLines(s.Path())[1]
	for _, want := range []string{
		`"n":1.50`, fmt.Sprintf(`"thinkingSignature":%q`, long), `{"type":"toolCall","id":"c","arguments":{"keep":1e3}}`,
		`"lineCount":249979,"signature":"s"`, `"short":{"content":"a\nb","lineCount":99}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %.60s", want)
		}
	}
	if strings.Contains(got, "partialJson") || strings.Contains(got, "jsonlEvents") {
		t.Error("what is transient was kept")
	}
	d.MemoryEqualsDisk(s)
}

// Pictures of 1,024 characters or more go to blobs: once, readable by their owner alone. They come back whole.
func TestPersistPictures(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", never())
	small := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 765)) // 1,020
	large := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, 768)) // 1,024
	odd := strings.Repeat("-_", 600)                                         // not how base64 would encode it again
	url := "data:image/png;base64,AAAA"
	picture := func(data string) map[string]any {
		return map[string]any{"type": "image", "data": data, "mimeType": "image/png"}
	}
	m := map[string]any{
		"role": "user", "content": []any{picture(small), picture(large), picture(large), picture(odd)},
		"elsewhere": []any{picture(large)}, "image_url": url, "nested": map[string]any{"content": []any{picture(large)}},
	}
	entry := d.persisted(s, m)["message"].(map[string]any)
	data := func(v any, i int) any { return v.([]any)[i].(map[string]any)["data"] }
	ref := blob.Sum(bytes.Repeat([]byte{2}, 768))
	for what, got := range map[string][2]any{
		"small": {data(entry["content"], 0), small}, "large": {data(entry["content"], 1), ref.String()},
		"large again": {data(entry["content"], 2), ref.String()}, "not canonical": {data(entry["content"], 3), odd},
		"not in content": {data(entry["elsewhere"], 0), large}, "a URL": {entry["image_url"], blob.Sum([]byte(url)).String()},
		"nested": {data(entry["nested"].(map[string]any)["content"], 0), ref.String()},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %.80v, want %.80v", what, got[0], got[1])
		}
	}
	path := filepath.Join(d.blobDir(), ref.Hex())
	info, err := os.Stat(path)
	d.Must(err)
	if info.Mode().Perm() != 0o600 || info.Size() != 768 {
		t.Errorf("%v, %d bytes", info.Mode(), info.Size())
	}
	if list, _ := os.ReadDir(d.blobDir()); len(list) != 2 {
		t.Errorf("blobs: %v", list)
	}
	// Resolved on load: the model sees what was said.
	c, err := s.Context(t.Context(), s.Leaf(), store.ContextOptions{})
	d.Must(err)
	for got, err := range c.Messages() {
		d.Must(err)
		var back map[string]any
		d.Must(json.Unmarshal(got.JSON, &back))
		want, _ := json.Marshal(m)
		have, _ := json.Marshal(back)
		if !bytes.Equal(want, have) {
			t.Errorf("came back as %.300s", have)
		}
	}
	// A data URL in a short record is found, too.
	s2 := d.Begin("omp", never())
	entry = d.persisted(s2, map[string]any{"role": "user", "image_url": url})["message"].(map[string]any)
	if entry["image_url"] != blob.Sum([]byte(url)).String() {
		t.Errorf(`%v; want entry["image_url"] == blob.Sum([]byte(url)).String()`, entry["image_url"])
	}
	// Pictures in changed arguments and in rewritten entries go to blobs, too.
	long := strings.Repeat("y", 600_000)
	_, err = s.AppendMessage(t.Context(), fmt.Appendf(nil, `{"role":"assistant","content":[{"type":"text","text":%q},{"type":"toolCall","id":"c","arguments":{}}]}`, long))
	d.Must(err)
	_, err = s.RewriteToolCallArguments(t.Context(), "c", fmt.Appendf(nil, `{"text":%q}`, long+"z"))
	d.Must(err)
	var last struct{ TreelineOverflow map[string]string }
	lines := d.ReadLines(s.Path())
	d.Must(json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	for pointer, want := range map[string]string{"/message/content/0/text": long, "/message/content/1/arguments/text": long + "z"} {
		if last.TreelineOverflow[pointer] != blob.Sum([]byte(want)).String() {
			t.Errorf("%s: %v; want last.TreelineOverflow[pointer] == blob.Sum([]byte(want)).String()", pointer, last.TreelineOverflow)
		}
	}
	d.MemoryEqualsDisk(s)
}

// A copy in another agent's folder takes its blobs along, before its log is there.
func TestForkCarriesBlobs(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", never())
	large := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, 768))
	d.persisted(s, map[string]any{"role": "user", "content": []any{map[string]any{"type": "image", "data": large}}})
	dir := filepath.Join(d.Home, "other", "sessions", "x")
	copied := d.Closing(d.ForkFrom(t.Context(), s.Path(), d.fill(store.CreateOptions{Dir: dir})))
	if got, err := os.ReadFile(filepath.Join(d.Home, "other", "blobs", blob.Sum(bytes.Repeat([]byte{2}, 768)).Hex())); err != nil || len(got) != 768 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got := d.Texts(copied); len(got) != 1 || !strings.Contains(got[0], large) {
		t.Errorf("%.200q; want len(got) == 1, strings.Contains(got[0], large)", got)
	}
}

// A huge message is written and read like any other.
func TestHugeMessage(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("pi", store.CreateOptions{})
	text := strings.Repeat("0123456789abcdef", 24<<20/16)
	d.User(s, text)
	d.User(s, "small")
	c, err := s.Context(t.Context(), s.Leaf(), store.ContextOptions{})
	d.Must(err)
	n := 0
	for m, err := range c.Messages() {
		d.Must(err)
		n += len(m.JSON)
	}
	if n < 24<<20 {
		t.Errorf("%d bytes", n)
	}
}
