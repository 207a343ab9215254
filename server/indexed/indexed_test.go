package indexed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/index/remote/protocol"
	"github.com/treeline-dev/treeline/server/indexed"
	"github.com/treeline-dev/treeline/server/logs"
)

// windows is an index of runs that returns one log at a time. Every third log belongs to the caller's project.
type windows struct {
	index.Shared
	asked int
}

func (w *windows) Search(context.Context, index.Selection, *query.Query) ([]index.Found, *index.Position, error) {
	project := "vault"
	if w.asked++; w.asked%3 == 0 {
		project = "garden"
	}
	l := index.Found{Source: "box-00000001/codelia", Log: index.Log{Name: fmt.Sprint(project, w.asked), Facts: &index.Facts{Run: true, CWD: "/" + project, Used: int64(-w.asked)}}}
	return []index.Found{l}, l.PositionOf(index.OrderUsed), nil
}

func (w *windows) Select(_ context.Context, s index.Selection) ([]index.Found, error) {
	project := "/vault"
	if strings.Contains(s.Names[0], "garden") {
		project = "/garden"
	}
	return []index.Found{{Log: index.Log{Facts: &index.Facts{Run: true, CWD: project}}}}, nil
}

func (w *windows) Values(context.Context, index.Value, []string) ([]string, error) {
	return []string{"/garden", "/vault"}, nil
}

// A page for a limited caller goes on until it ends at a log that the caller may see.
func TestEnds(t *testing.T) {
	t.Parallel()
	l := logs.New(t.Context(), logs.Options{Backend: memory.New()})
	defer l.Close()
	x := &windows{}
	for _, row := range indexed.Rows() {
		if row.Name != "searchLogs" {
			continue
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), row.Method, "/", strings.NewReader(`{"selection":{"Runs":true,"Limit":5},"query":{"Text":"a"}}`))
		err := row.Do(&indexed.Call{
			Call: &logs.Call{W: w, R: r}, Logs: l, Root: "postgres://host/db/",
			Index: func(context.Context, bool) (index.Shared, error) { return x, nil },
			View:  &indexed.View{May: func(cwd string) bool { return cwd == "/garden" }},
		})
		var page protocol.Page
		if err == nil {
			err = json.Unmarshal(w.Body.Bytes(), &page)
		}
		if err != nil {
			t.Fatal(err)
		}
		next, err := protocol.ReadCursor(page.Next, index.OrderUsed)
		if err != nil || len(page.Logs) != 1 || x.asked != 3 || next.Name != "box-00000001/codelia/garden3" {
			t.Errorf("%d logs after %d windows, and the page ends at %+v, %v", len(page.Logs), x.asked, next, err)
		}
	}
	if x.asked == 0 {
		t.Error("there is no search")
	}
}

// flipping is an index with one log, which becomes a log of another project after some calls, or one of the caller's.
type flipping struct {
	index.Shared
	calls, at int
	garden    bool
}

func (f *flipping) tick() {
	if f.calls++; f.calls == f.at {
		f.garden = !f.garden
	}
}

func (f *flipping) Select(_ context.Context, s index.Selection) ([]index.Found, error) {
	f.tick()
	if s.Runs {
		return nil, nil
	}
	l := index.Found{Source: "box-00000001/omp", Log: index.Log{Name: "a.jsonl", Facts: &index.Facts{CWD: "/vault", Heading: "the vault"}}}
	if l.Stamp.Generation = "1"; f.garden {
		l.Stamp.Generation, l.Facts.CWD, l.Facts.Heading = "2", "/garden", "tomatoes"
	}
	return []index.Found{l}, nil
}

func (f *flipping) Values(context.Context, index.Value, []string) ([]string, error) {
	return []string{"/garden", "/vault"}, nil
}

func (f *flipping) IDs(_ context.Context, _ *index.Found, _ int, take func(int64, uint32)) error {
	f.tick()
	if take(0, 1); !f.garden {
		take(0, 666)
	}
	return nil
}

// A log that belongs to another project for a part of a request is not shown as it is there.
func TestFlipping(t *testing.T) {
	t.Parallel()
	l := logs.New(t.Context(), logs.Options{Backend: memory.New()})
	defer l.Close()
	questions := map[string]string{"selectLogs": `{}`, "listIDs": `{"source":"box-00000001/omp","name":"a.jsonl","chunks":1}`}
	for _, row := range indexed.Rows() {
		question, ok := questions[row.Name]
		if !ok {
			continue
		}
		delete(questions, row.Name)
		for n := range 24 {
			x := &flipping{at: n / 2, garden: n%2 == 0}
			w := httptest.NewRecorder()
			err := row.Do(&indexed.Call{
				Call: &logs.Call{W: w, R: httptest.NewRequestWithContext(t.Context(), row.Method, "/", strings.NewReader(question))}, Logs: l,
				Root:  "postgres://host/db/",
				Index: func(context.Context, bool) (index.Shared, error) { return x, nil },
				View: &indexed.View{May: func(cwd string) bool { return cwd == "/garden" }, Sessions: func(_ context.Context, names []string) (map[string]string, error) {
					x.tick()
					shown := map[string]string{}
					for _, name := range names {
						if x.garden {
							shown[name] = ""
						}
					}
					return shown, nil
				}},
			})
			said := w.Body.String()
			var page protocol.Page
			if row.Name == "selectLogs" && err == nil {
				err = json.Unmarshal(w.Body.Bytes(), &page)
			}
			for _, one := range page.Logs { // encoded
				f, err := one.Found()
				if err != nil {
					t.Fatal(err)
				}
				said += f.Facts.CWD + f.Facts.Heading
			}
			if strings.Contains(said, "vault") || strings.Contains(said, "666") {
				t.Errorf("%s, flipped in step %d: %s", row.Name, n, said)
			}
			if err == nil && x.at == 0 && x.garden && row.Name == "listIDs" && !strings.Contains(w.Body.String(), "[1]") {
				t.Errorf("%s: %s, want the hash 1", row.Name, w.Body)
			}
		}
	}
	if len(questions) > 0 {
		t.Errorf("there are no operations %v", questions)
	}
}
