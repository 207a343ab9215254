package wire

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/repair"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
	"github.com/treeline-dev/treeline/usage"
)

// TestShapes pins the members of every shape, both with values and without.
func TestShapes(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	sess := openSession(t, s)
	omp, err := s.Dialect("omp")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 2, 14, 0, 0, 7e6, time.FixedZone("", 3600))
	spelled := session.Time{Text: `"2026-03-02T14:00:00.000Z"`}
	log := backend.Log{Size: 7, Time: at}
	row := place.Row{Dialect: omp, Path: "/s/a.jsonl", Log: log, Short: "01a1dcc8", Summary: dialect.Summary{
		ID: "01a1dcc8-5e1f", CWD: "/work", Title: "A title", Prompt: "A prompt", Messages: 2, Created: spelled, Parent: "p",
	}}
	row.Known = &index.Summary{
		Active: spelled, Entries: 3, Branches: 1, Models: []string{"m"}, Tokens: index.Tokens{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Total: 10},
		Cost: 0.5, Has: index.HasLabel,
	}
	bare := place.Row{Dialect: omp, Path: "/s/b.jsonl", Log: log, Summary: dialect.Summary{ID: "b", Messages: -1}}
	summary := run.Summary{
		Header: run.Header{RunID: "r1", SessionID: "s1", StartedAt: "then", Model: &run.Model{Name: "m"}}, Prompt: "p", Outcome: "completed",
	}
	runRow := runs.Row{Path: "/r/a.jsonl", Log: log, Summary: summary, Short: "r"}
	runHit := find.Run{Location: place.Location{Path: "/r/a.jsonl"}, Log: log, Summary: summary}
	hits := &find.Result{More: true, Hits: []find.Hit{
		{Session: &row, Entry: "e1", Type: "message", Kind: session.KindMessage, Role: session.RoleUser, Time: spelled, Label: "l", OnPath: true,
			Field: query.FieldUser, Snippet: "Zwölf \x1bFrösche", Marks: [][2]int{{8, 16}}, Score: 1.5},
		{Session: &bare, Shared: true, Type: "session"},
		{Run: &runHit, Line: 4, Type: "tool.output", Field: query.FieldTool},
	}}
	used := usage.Amount{Sessions: 1, Messages: 2, Tokens: index.Tokens{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Total: 10}, Cost: 0.5}
	problem := session.Problem{File: "/s/a.jsonl", Line: 1, Kind: session.ProblemTorn, Message: "m", Advice: "a"}
	losses := []convert.Loss{
		{Path: "/x", Kind: "message", Count: 1, Became: convert.Carried, Entries: []session.EntryID{"e"}}, {Kind: "line", Became: convert.Dropped, Lines: []int{3}},
	}
	session, err := NewSession(sess)
	if err != nil {
		t.Fatal(err)
	}
	source := place.Source{Dialect: omp, Root: dialect.Root{Sessions: "/s"}, Why: place.WhyDefault}
	assumed := source
	assumed.Assumed = true
	plan := &repair.Plan{Path: "a", Backup: "b", Aside: "c", Repairs: []repair.Repair{{Line: 1, Offset: 2, Kind: "torn", Entry: "e", Problem: "p", Action: "a", Change: true}},
		Late: backend.Late{Records: [][]byte{{}}, Holders: []string{"h"}}}
	for name, list := range map[string][]any{
		"row":      {NewRow(&row), NewRow(&bare)},
		"hit":      {NewSearchResult(hits, false), NewSearchResult(&find.Result{}, true), NewSearchResult(&find.Result{Substring: true}, false), HitRef(&hits.Hits[0], true), HitRef(&hits.Hits[1], true), HitRef(&hits.Hits[2], true)},
		"source":   {NewSource(place.SourceInfo{Source: source, Exists: true, Sessions: 1, Bytes: 2, Newest: at, Dialects: []dialect.Dialect{omp}}), NewSource(place.SourceInfo{Source: assumed})},
		"session":  {session},
		"appended": {NewAppended(sess, store.Appended{ID: "00000002"}), NewAppended(sess, store.Appended{ID: "00000001", Durable: true, Foreign: 2, Outcome: store.PolicyBranch})},
		"label":    {NewLabel("e", "l"), NewLabel("e", "")},
		"trashed":  {NewTrashed(trash.Item{ID: "i", Session: "s", Prompt: "p", CWD: "/", Dialect: "omp", From: "/f", Time: at, Size: 3})},
		"token": {
			NewToken(access.Grant{Name: "n", User: "u", Machine: "m", Write: true, Projects: []string{"/p"}, Created: at, Expires: at, Used: at, Revoked: at}),
			NewToken(access.Grant{Name: "n", Created: at}),
		},
		"auditRecord": {NewAuditRecord(access.Record{
			Time: at, Token: "n", User: "u", Machine: "m", Address: "1.2.3.4", Action: "append", Target: "/t", Project: "/p", Outcome: access.Refused, Reason: "r", Count: 2,
		})},
		"plan": {NewPlan(plan), NewPlan(&repair.Plan{Path: "a"})},
		"gc":   {NewGC(trash.GCReport{Unused: []trash.GCBlob{{Path: "p", Size: 3, Time: at}}, Young: 1, Used: 2, Leftovers: 3, Files: 4, Obstacles: []error{errors.New("o")}})},
		"run":  {NewRun(runRow), NewRun(runs.Row{Log: log})},
		"stats": {
			NewStats(usage.Report{Total: used, Copies: 1, Groups: map[usage.Key][]usage.Group{
				usage.Agent: {{Name: "omp", Amount: used}}, usage.Model: {{Amount: used}}, usage.Project: {}, usage.Day: {{Name: "2026-03-02", Amount: used}},
			}}),
			NewStats(usage.Report{Groups: map[usage.Key][]usage.Group{usage.Day: {}}}),
		},
		"receipt": {NewReceipt(1, run.Written{Type: run.TypeRunEnd}), NewReceipt(2, run.Written{Type: run.TypeLLMRequest, HasSeq: true}), Receipt{Line: 3, Error: "refused"}},
		"message": {
			NewError(errors.New("no"), 1, ""), NewError(errors.New("unknown flag"), 2, "treeline ls --help"),
			NewError(&problem, 1, ""), Message{Notice: &Notice{"note"}}, Message{Problem: &problem},
		},
		"conversion": {
			NewConversion(convert.Report{Source: convert.Converted{ID: "s", File: "/a", Dialect: "pi", Entries: 2}, Losses: losses}),
			NewConversion(convert.Report{Lossless: true}),
		},
		"resume": {
			NewResume(dialect.Launch{Args: []string{"omp", "--resume", "/s/a b.jsonl"}, Env: []string{"X=1"}}, "/work", Resumed{ID: "i", Path: "/s/a b.jsonl", Dialect: omp, Leaf: "e",
				From: "/f", Holders: []string{"h"}, Report: &convert.Report{Lossless: true}}),
			NewResume(dialect.Launch{Args: []string{"omp"}}, "", Resumed{ID: "i", Path: "/p", Dialect: omp}),
		},
		"audit": {
			NewAudit(&run.Report{RunID: "r", SessionID: "s", Outcome: run.Crashed, Seconds: 1.5, Tokens: run.Tokens{Input: 1, Cached: 2, CacheCreation: 3, Image: 4, Output: 5, Total: 6},
				Models: []run.Tokens{{Model: "m", Responses: 1, Input: 1}}, Findings: []run.Finding{{Kind: run.FindingTime, Line: 2, Note: true, Message: "f"}},
				Problems: []run.Problem{{Line: 1, Offset: 2, Kind: run.ProblemTorn, Message: "p"}}}),
			NewAudit(&run.Report{RunID: "r"}),
		},
		"replay": {Endpoint{"http://127.0.0.1:1/v1"}, Served{Seq: 1}, Served{Seq: 2, Difference: &run.Difference{Pointer: "/a", A: "1", B: "2"}}, Replayed{2, 2, 1}},
		"other":  {Recording{ID: "r", Path: "p"}, Import{Failed: []string{}}, Prompt{Uses: []Use{{Session: "s"}}}, Version{Version: "v"}},
	} {
		golden(t, "json/"+name+".json", func(p *Page) error {
			for _, v := range list {
				if err := Write(p, v); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// If the user typed only commands, they are the prompt of the session, whether its row comes from the log or from a catalogue.
func TestRowOfCommands(t *testing.T) {
	t.Parallel()
	omp, err := fixture(t).Dialect("omp")
	if err != nil {
		t.Fatal(err)
	}
	read := place.Row{Dialect: omp, Summary: dialect.Summary{Command: "/review main"}}
	if row := NewRow(&read); row.Prompt != "/review main" || row.Title != row.Prompt {
		t.Errorf("title %q, prompt %q; want /review main", row.Title, row.Prompt)
	}
}

// TestEntries prints every entry with its parts.
func TestEntries(t *testing.T) {
	t.Parallel()
	s := openSession(t, fixture(t))
	path, err := s.Tree().Path(s.Tree().LeafID())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "json/entries.json", func(p *Page) error { return NewReader(t.Context(), s).WritePath(p, path) })
}

func TestArray(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for n := range 3 {
		list := Array{W: &b}
		for i := range n {
			if err := list.Add(i); err != nil {
				t.Fatal(err)
			}
		}
		if err := list.End(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := b.String(), "[]\n[\n0\n]\n[\n0,\n1\n]\n"; got != want {
		t.Errorf("%q instead of %q", got, want)
	}
}

// TestVerbatim: what encoding/json cannot read is passed on as a string.
func TestVerbatim(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	if got := string(Verbatim(session.Raw(deep))); got != `"`+deep+`"` {
		t.Errorf("%.20s…; want got == %v", got, `"`+deep+`"`)
	}
	if got := string(Verbatim(session.Raw(`{"a":1e2}`))); got != `{"a":1e2}` {
		t.Error(got)
	}
}
