package runs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// desk is a world two seconds before a new year, with its run logs.
type desk struct {
	*world.World
	logs *runs.Logs
	now  time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	t.Parallel()
	w := world.New(t, func(w *world.World) { w.State, w.Databases = w.At("state"), []backend.Driver{codelia.Driver()} })
	return &desk{w, runs.New(w.Store.Machine), time.Date(2026, 12, 31, 23, 59, 58, 0, time.UTC)}
}

func (d *desk) start(id session.ID, change ...func(*runs.StartOptions)) *runs.Recording {
	d.Helper()
	opt := runs.StartOptions{Session: id, Write: runs.WriteOptions{
		Random: d.Write(store.WriteOptions{}).Random, Clock: func() time.Time { d.now = d.now.Add(time.Second); return d.now },
	}}
	for _, c := range change {
		c(&opt)
	}
	r, err := d.logs.Start(d.Context(), opt)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { r.Close() })
	return r
}

func (d *desk) append(r *runs.Recording, records ...string) {
	d.Helper()
	for _, record := range records {
		if _, err := r.AppendRaw(d.Context(), []byte(record)); err != nil {
			d.Fatalf("%s: %v", record, err)
		}
	}
}

func (d *desk) list(id session.ID) []string {
	d.Helper()
	rows, err := d.logs.List(d.Context(), runs.ListOptions{Session: id})
	if err != nil {
		d.Fatal(err)
	}
	var list []string
	for _, r := range rows {
		if r.Err != nil {
			d.Errorf("%s: %v; want r.Err == nil", r.Path, r.Err)
		}
		list = append(list, fmt.Sprintf("%s %q %s", r.Header.SessionID, r.Prompt, r.Outcome))
	}
	return list
}

// A run of a session whose agent keeps no runs lies in treeline's own folder, by the day in UTC. Each record is in the file when the append
// returns.
func TestRecord(t *testing.T) {
	d := newDesk(t)
	r := d.start("some-session")
	path := r.Path()
	if want := filepath.Join(d.State, "runs", "2026", "12", "31", r.Header().RunID+".jsonl"); path != want {
		t.Fatalf("%s instead of %s", path, want)
	}
	lines := func() int {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "\n")
	}
	if lines() != 1 {
		t.Fatalf("%d lines", lines())
	}
	d.append(r, `{"type":"run.start","input":{"type":"text","text":"go"}}`)
	if lines() != 2 {
		t.Fatalf("%d lines", lines())
	}
	if got := d.list("some-session"); len(got) != 1 || got[0] != `some-session "go" ` {
		t.Errorf("%q; want len(got) == 1, got[0] == `some-session \"go\" `", got)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.AppendRaw(cancelled, []byte(`{"type":"x.a.b"}`)); !errors.Is(err, context.Canceled) || lines() != 2 {
		t.Errorf("cancelled: %v, %d lines", err, lines())
	}
	long := strings.Repeat("x", 100_000)
	if err := r.End(t.Context(), run.OutcomeCompleted, long); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := d.list("some-session"); len(got) != 1 || got[0] != `some-session "go" completed` {
		t.Errorf("%q; want len(got) == 1, got[0] == `some-session \"go\" completed`", got)
	}
	if got := d.list("another"); len(got) != 0 {
		t.Errorf("%q; want len(got) == 0", got)
	}
	if _, err := r.AppendRaw(t.Context(), []byte(`{"type":"x.a.b"}`)); !errors.Is(err, run.ErrEnded) {
		t.Error(err)
	}
	if _, err := d.logs.Continue(t.Context(), path, runs.WriteOptions{}); !errors.Is(err, run.ErrEnded) {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want no error, info.Mode().Perm() == 0o600", info.Mode(), err)
	}
	open, err := d.logs.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	report, err := run.Audit(open.Log)
	if err != nil || report.Faults() > 0 || open.Path() != path {
		t.Errorf("%s: %+v, %v; want no error, report.Faults() <= 0, open.Path() == %v", open.Path(), report, err, path)
	}
}

// If codelia has runs of a session, further ones go there. The caller may also choose it.
func TestPlaces(t *testing.T) {
	d := newDesk(t)
	codelia := d.Format("codelia")
	first := d.start("s1", func(o *runs.StartOptions) { o.Dialect = codelia })
	if !strings.HasPrefix(first.Path(), filepath.Join(d.Home, ".codelia", "sessions", "2026", "12", "31")) {
		t.Errorf(`%s; want strings.HasPrefix(first.Path(), filepath.Join(d.Home, ".codelia", "sessions", "2026", "12", "31"))`, first.Path())
	}
	second := d.start("s1") // a second later it is another year
	if !strings.HasPrefix(second.Path(), filepath.Join(d.Home, ".codelia", "sessions", "2027", "01", "01")) {
		t.Errorf(`%s; want strings.HasPrefix(second.Path(), filepath.Join(d.Home, ".codelia", "sessions", "2027", "01", "01"))`, second.Path())
	}
	if other := d.start("s2"); !strings.HasPrefix(other.Path(), d.State) {
		t.Errorf("%s; want strings.HasPrefix(other.Path(), d.State)", other.Path())
	}
	if got := d.list("s1"); len(got) != 2 {
		t.Errorf("%q; want len(got) == 2", got)
	}
	if got := d.list(""); len(got) != 3 {
		t.Errorf("%q; want len(got) == 3", got)
	}
	// A session of codelia itself that has no runs yet.
	const third = "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
	d.Put(".codelia/sessions/state/"+third+".json", `{"schema_version":1,"session_id":"`+third+`","updated_at":"2026-02-03T12:00:02.900Z","messages":[]}`)
	if r := d.start(third); !strings.HasPrefix(r.Path(), filepath.Join(d.Home, ".codelia")) {
		t.Errorf(`%s; want strings.HasPrefix(r.Path(), filepath.Join(d.Home, ".codelia"))`, r.Path())
	}
	if _, err := d.logs.Start(t.Context(), runs.StartOptions{Dialect: d.Format("pi")}); !errors.Is(err, dialect.ErrUnsupported) {
		t.Error(err)
	}
	id := first.Header().RunID
	for _, ref := range []string{id, strings.ToUpper(id), "@last"} {
		if _, err := d.logs.Find(t.Context(), ref); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
	for _, ref := range []string{"", "ffffffff", "0"} {
		if _, err := d.logs.Find(t.Context(), ref); err == nil {
			t.Errorf("%q is a run", ref)
		}
	}
}

// A header from an agent is checked, and written with its members as they are.
func TestHeader(t *testing.T) {
	d := newDesk(t)
	const id = "11111111-2222-4333-8444-555555555555"
	given := `{"type":"header", "run_id":"` + id + `","future":{"n":1.0},"started_at":"2026-03-01T01:00:00+02:00"}`
	r := d.start("s", func(o *runs.StartOptions) { o.Header = []byte(given) })
	if want := filepath.Join(d.State, "runs", "2026", "02", "28", id+".jsonl"); r.Path() != want {
		t.Errorf("%s instead of %s", r.Path(), want)
	}
	b, err := os.ReadFile(r.Path())
	if want := `{"type":"header","run_id":"` + id + `","future":{"n":1.0},"started_at":"2026-03-01T01:00:00+02:00","schema_version":1,"session_id":"s"}` + "\n"; err != nil || string(b) != want {
		t.Errorf("%s instead of %s (%v)", b, want, err)
	}
	for name, header := range map[string]string{
		"twice":           given,
		"no UUID":         `{"type":"header","run_id":"../../x"}`,
		"another schema":  `{"type":"header","schema_version":2}`,
		"no time":         `{"type":"header","started_at":"yesterday"}`,
		"no header":       `{"type":"run.start"}`,
		"no object":       `[]`,
		"no JSON":         `{`,
		"another session": `{"type":"header","session_id":"t"}`,
	} {
		if _, err := d.logs.Start(t.Context(), runs.StartOptions{Session: "s", Header: []byte(header)}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got := d.list(""); len(got) != 1 {
		t.Errorf("%q; want len(got) == 1", got)
	}
}

// A run that was cut short continues where it stopped: the torn record is moved aside, and the seq of the open request is known.
func TestContinue(t *testing.T) {
	d := newDesk(t)
	r := d.start("s")
	d.append(r, `{"type":"llm.request","seq":5,"input":{"messages":[]}}`)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	d.AppendPlain(r.Path(), `{"type":"llm.resp`)
	again, err := d.logs.Continue(t.Context(), r.Path(), runs.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	d.append(again, `{"type":"llm.response","output":{"messages":[]}}`)
	open, err := d.logs.Open(t.Context(), r.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if x := open.Exchanges(); len(open.Problems()) > 0 || len(x) != 1 || !x[0].Answered || x[0].Seq != 5 {
		t.Errorf("%v, %v; want len(open.Problems()) <= 0, len(x) == 1, x[0].Answered, x[0].Seq == 5", open.Problems(), x)
	}
	// The first writer does not continue after records of a second one.
	other, err := d.logs.Continue(t.Context(), r.Path(), runs.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	d.append(other, `{"type":"run.end","outcome":"cancelled"}`)
	if _, err := again.AppendRaw(t.Context(), []byte(`{"type":"x.a.b"}`)); !errors.Is(err, backend.ErrConflict) {
		t.Error(err)
	}
	if _, err := d.logs.Open(t.Context(), r.Path()+".none.jsonl"); !errors.Is(err, backend.ErrNotExist) {
		t.Error(err)
	}
}

// A log that was only touched still belongs to the recorder.
func TestTouched(t *testing.T) {
	d := newDesk(t)
	r := d.start("s")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(r.Path(), later, later); err != nil {
		t.Fatal(err)
	}
	d.append(r, `{"type":"x.a.b"}`)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AppendRaw(t.Context(), []byte(`{"type":"x.a.b"}`)); !errors.Is(err, runs.ErrClosed) {
		t.Error(err)
	}
}

// A list is filtered by the working directory; Holds reports whether a folder has runs.
func TestListed(t *testing.T) {
	d := newDesk(t)
	header := func(cwd string) func(*runs.StartOptions) {
		return func(o *runs.StartOptions) { o.Header = fmt.Appendf(nil, `{"type":"header","runtime":{"cwd":%q}}`, cwd) }
	}
	d.start("a", header(d.Home+"/."))
	d.start("b", header("/nosuch"))
	d.start("c")
	d.Old("state/runs/2027/01/01/0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl", "junk\n")
	rows, err := d.logs.List(t.Context(), runs.ListOptions{CWD: d.Home})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r.Header.SessionID, r.Err))
	}
	if want := fmt.Sprint([]string{"a<nil>", run.ErrNotHeader.Error()}); fmt.Sprint(got) != want {
		t.Errorf("%v instead of %v", got, want)
	}
	if !d.logs.Holds(t.Context(), d.State) || d.logs.Holds(t.Context(), d.CWD) {
		t.Error("a folder with runs is not told from one without")
	}
}
