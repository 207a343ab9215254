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
