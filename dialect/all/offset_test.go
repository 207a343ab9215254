package all_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/session"
)

// headers are first records, by family.
var headers = map[string]string{
	"pi":            `{"type":"session","version":3,"id":"a","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/x"}`,
	"operator":      `{"type":"session","version":3,"id":"a","timestamp":1794705154.5,"cwd":"/x"}`,
	"wave":          `{"type":"metadata","workdir":"/x","createdAt":"2026-02-16T10:00:00.000Z"}`,
	"codelia":       `{"type":"header","schema_version":1,"run_id":"a","started_at":"2026-02-16T10:00:00.000Z"}`,
	"codelia-state": `{"schema_version":1,"session_id":"a","updated_at":"2026-02-16T10:00:00.000Z"}`,
}

// TestProblemsBehindNULs: if NULs were cut off the beginning of a line, a later problem on the line is still reported at its own
// offset.
func TestProblemsBehindNULs(t *testing.T) {
	for _, d := range all.Dialects() {
		header, ok := headers[d.Family()]
		if !ok {
			continue // its sessions do not consist of lines
		}
		t.Run(d.Name(), func(t *testing.T) { problemsBehindNULs(t, d, header) })
	}
}

func problemsBehindNULs(t *testing.T, d dialect.Dialect, header string) {
	log := header + "\n\x00\x00" + header + "\n\x00\x00\x0017\n"
	tree, err := dialecttest.Decode(d, "log", []byte(log))
	if err != nil {
		t.Fatal(err)
	}
	want := map[session.ProblemKind]int{
		session.ProblemHeaderAgain: strings.LastIndex(log, header),
		session.ProblemNotObject:   strings.LastIndex(log, "17"),
	}
	for _, p := range tree.Problems() {
		at, ok := want[p.Kind]
		if !ok {
			continue
		}
		delete(want, p.Kind)
		if p.Offset != int64(at) {
			t.Errorf("%s is at byte %d, not %d", p.Kind, p.Offset, at)
		}
	}
	if len(want) > 0 {
		t.Errorf("not reported: %v", want)
	}
}
