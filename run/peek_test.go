package run_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/run"
)

// TestPeek: the ends of a log give its summary, however long the header and the last record are.
func TestPeek(t *testing.T) {
	t.Parallel()
	const (
		header = `{"type":"header","schema_version":1,"run_id":"r1","started_at":"2026-04-01T10:00:00.000Z","runtime":{"cwd":"/garden"},"meta":"`
		start  = `{"type":"run.start","run_id":"r1","ts":"2026-04-01T10:00:01.000Z","input":{"type":"text","text":"dig"}}` + "\n"
		end    = `{"type":"run.end","run_id":"r1","ts":"2026-04-01T10:00:02.000Z","outcome":"completed","final":"`
	)
	filler := strings.Repeat(`{"type":"run.status","run_id":"r1","ts":"2026-04-01T10:00:01.500Z","status":"running"}`+"\n", 1000)
	long := strings.Repeat("x", 40_000)
	for name, c := range map[string]struct {
		log     string
		prompt  string
		outcome string
		err     error
	}{
		"short":             {header + `"}` + "\n" + start + end + `"}` + "\n", "dig", "completed", nil},
		"long":              {header + `"}` + "\n" + start + filler + end + `"}` + "\n", "dig", "completed", nil},
		"long records":      {header + long + `"}` + "\n" + start + filler + end + long + `"}` + "\n", "dig", "completed", nil},
		"longest records":   {header + strings.Repeat(long, 30) + `"}` + "\n" + start + filler + end + long + `"}` + "\n", "dig", "completed", nil},
		"with a mark":       {"\ufeff" + header + `"}` + "\n" + start, "dig", "", nil},
		"torn end":          {header + `"}` + "\n" + start + filler + end, "dig", "", nil},
		"no prompt":         {header + `"}` + "\n" + filler, "", "", nil},
		"not a run":         {`{"type":"session"}` + "\n", "", "", run.ErrNotHeader},
		"header without id": {`{"type":"header"}` + "\n" + start, "", "", run.ErrNotHeader},
		"empty":             {"", "", "", run.ErrNotHeader},
	} {
		s, err := run.Peek(int64(len(c.log)), func(head, tail int64) ([]byte, []byte, error) {
			first := c.log[:min(int(head), len(c.log))]
			rest := c.log[len(first):]
			return []byte(first), []byte(rest[max(0, len(rest)-int(tail)):]), nil
		})
		if !errors.Is(err, c.err) || s.Prompt != c.prompt || s.Outcome != c.outcome {
			t.Errorf("%s: prompt %q, outcome %q, %v", name, s.Prompt, s.Outcome, err)
		}
		if err == nil && (s.Header.RunID != "r1" || s.CWD() != "/garden" || s.Started.IsZero()) {
			t.Errorf("%s: run %q in %q, started %s", name, s.Header.RunID, s.CWD(), s.Started)
		}
	}
	failed := errors.New("cannot be read")
	if _, err := run.Peek(1, func(int64, int64) ([]byte, []byte, error) { return nil, nil, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
}
