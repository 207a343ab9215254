package server_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
	backends "github.com/treeline-dev/treeline/backend/all"
	indexes "github.com/treeline-dev/treeline/index/all"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/server"
)

// chain is the number of sessions in the archive that continue one another.
const chain = 4

// archived returns the logs of the archive: forks, copies with the same id on another machine, an id that cannot be a key, a sub-agent, and
// sessions of another project.
func archived() map[string]string {
	at := func(text, cwd, parent string, minute int) string {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "/garden", cwd), "T10:00", fmt.Sprintf("T10:%02d", minute))
		if parent != "" {
			text = strings.Replace(text, `"cwd"`, fmt.Sprintf(`"parentSession":%q,"cwd"`, parent), 1)
		}
		return text
	}
	id := func(n int) string { return fmt.Sprintf("0198a1b2-0000-7000-8000-0000000001%02d", n) }
	hello := func(text string) string { return said("a1", "", "user", text) + said("a2", "a1", "assistant", "Well.") }
	logs := map[string]string{
		"laptop-00000001/omp/--garden--/beds.jsonl":           at(head(beds)+hello("tomatoes"), "/garden", "", 1),
		"desktop-00000002/omp/--garden--/beds.jsonl":          at(head(beds)+hello("tomatoes again"), "/garden/south", "", 2),
		"laptop-00000001/omp/--garden--/fork.jsonl":           at(head(pond)+hello("a fork"), "/garden", id(3), 3),
		"laptop-00000001/omp/--garden--/pathfork.jsonl":       at(head(id(50))+hello("a fork by path"), "/garden", "/home/ann/.omp/agent/sessions/--garden--/old3.jsonl", 4),
		"laptop-00000001/omp/--garden--/odd.jsonl":            at(head("an/odd@id")+hello("odd"), "/garden", "", 5),
		"vaultbox-00000003/omp/--vault--/shed.jsonl":          at(head(vaulted)+hello("the combination of tomatoes"), "/vault", "", 6),
		"vaultbox-00000003/omp/--vault--/copy.jsonl":          at(head(id(4))+hello("the combination again"), "/vault", "", 7),
		"laptop-00000001/omp/--garden--/secretfork.jsonl":     at(head(id(51))+hello("a fork of a secret"), "/garden", vaulted, 8),
		"laptop-00000001/omp/--garden--/old3/0-Dig.jsonl":     at(head(id(52))+hello("dig"), "/garden", "", 9),
		"laptop-00000001/omp/--garden--/nothing-to-see.jsonl": "no session\n",
	}
	// Each one continues the one before. The first belongs to another project, so a limited client sees none of them.
	for n := range chain {
		parent, cwd := fmt.Sprintf(`,"forked_from_id":%q`, id(59+n)), "/garden"
		if n == 0 {
			parent, cwd = "", "/vault"
		}
		logs[fmt.Sprintf("laptop-00000001/codex/2026/02/16/rollout-2026-02-16T10-00-%02d-%s.jsonl", n, id(60+n))] = fmt.Sprintf(
			`{"timestamp":"2026-02-16T10:40:0%[1]d.000Z","type":"session_meta","payload":{"id":%[2]q,"timestamp":"2026-02-16T10:40:0%[1]d.000Z","cwd":%[3]q,`+
				`"originator":"o","cli_version":"v"%[4]s}}`+"\n"+
				`{"timestamp":"2026-02-16T10:41:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"rake"}]}}`+"\n",
			n, id(60+n), cwd, parent)
	}
	for n := range 6 {
		run := fmt.Sprintf("7f1d7b7a-0000-4000-8000-0000000000%02d", n)
		logs["laptop-00000001/codelia/2026/02/03/"+run+".jsonl"] = fmt.Sprintf(
			`{"type":"header","schema_version":1,"run_id":%q,"session_id":%q,"started_at":"2026-02-03T12:34:%02d.000Z","runtime":{"cwd":%q}}`+"\n", run, beds, n, []string{"/garden", "/vault"}[n%2])
	}
	for n := range 12 {
		logs[fmt.Sprintf("laptop-00000001/omp/--garden--/old%d.jsonl", n)] = at(head(id(n))+hello(fmt.Sprint("old ", n)), "/garden", "", 10+n)
	}
	return logs
}

// newArchives returns two servers of the same archive in PostgreSQL: one asks the archive's index, and one lists all logs.
func newArchives(t *testing.T) (paged, whole *team) {
	t.Helper()
	root := pgtest.Start(t, pgtest.Options{}).Database(t, "lists")
	serve := func(opt treeline.Options) *team {
		m := newTeam(t)
		m.must(m.Close())
		m.must(m.store.Close())
		opt.Backends, opt.Roots, opt.Home, opt.WorkDir = backends.Drivers(), []string{root}, m.home, m.home
		opt.Getenv, opt.NoBreadcrumbs = func(string) string { return "" }, true
		var err error
		m.store, err = treeline.New(opt)
		m.must(err)
		m.grant(access.Grant{Name: "south", Projects: []string{"/garden/south"}})
		m.start(func(o *server.Options) { o.Access, o.Clock, o.Archive, o.Write = m.book, m.clock, nil, true })
		return m
	}
	whole = serve(treeline.Options{})
	all, err := whole.store.OpenWriting(strings.TrimSuffix(whole.store.ArchivedPath(""), "/"), "")
	whole.must(err)
	for name, text := range archived() {
		var records [][]byte
		for line := range strings.Lines(text) {
			records = append(records, []byte(strings.TrimSuffix(line, "\n")))
		}
		_, err := all.Create(t.Context(), name, records...)
		whole.must(err)
	}
	paged = serve(treeline.Options{Indexes: indexes.Drivers(backends.Drivers())})
	if !paged.store.Paged() || whole.store.Paged() {
		t.Fatal("both servers make their lists in the same way")
	}
	for token, n := range map[string]int{"everything": len(archived()) - 7, "reader": len(archived()) - 9 - chain, "south": 1, "nothing": 0} {
		if list := paged.pagesOf(token, "limit=7"); len(list.Sessions) != n {
			t.Errorf("%d sessions as %s, not %d", len(list.Sessions), token, n)
		}
	}
	return paged, whole
}

type keyed struct {
	Sessions []struct{ Key, ID, Short, Path, Parent string }
	Next     *string
	Total    *int
}

// pagesOf reads all pages of a list.
func (m *team) pagesOf(token, query string) (all keyed) {
	m.Helper()
	for cursor := ""; ; {
		code, body := m.as(token, "GET", "/api/v1/sessions?"+query+"&cursor="+url.QueryEscape(cursor), "")
		if code != 200 {
			m.Fatalf("%s as %s: %d %s", query, token, code, body)
		}
		one := answer[keyed](m.machine, body)
		all.Sessions, all.Total = append(all.Sessions, one.Sessions...), one.Total
		if one.Next == nil {
			return all
		}
		cursor = *one.Next
	}
}

// A server that asks the index of an archive gives the same answers as one that lists all of its sessions, for every token, and never lists
// them.
func TestArchiveLists(t *testing.T) {
	t.Parallel()
	paged, whole := newArchives(t)
	for _, token := range []string{"everything", "reader", "south", "nothing"} {
		for _, query := range []string{
			"", "limit=4", "limit=1", "source=omp&limit=5", "cwd=/garden", "cwd=/vault", "title=*fork*", "since=2026-02-16T10:05:00Z&limit=3",
			"until=2026-02-16T10:05:00Z", "has=branch", "model=none",
		} {
			got, want := paged.pagesOf(token, query), whole.pagesOf(token, query)
			if got.Total != nil && *got.Total != *want.Total {
				t.Errorf("%s as %s: %d in all, not %d", query, token, *got.Total, *want.Total)
			}
			got.Total, want.Total = nil, nil
			for _, list := range []*keyed{&got, &want} {
				for i := range list.Sessions {
					if one := &list.Sessions[i]; strings.HasPrefix(one.Key, "@") {
						one.Key = "@" // a key in an archive is made from the name
					}
				}
			}
			if diff := difftest.Diff(want, got); diff != "" {
				t.Errorf("%s as %s (-all are listed +asked):\n%s", query, token, diff)
			}
		}
		for _, s := range paged.pagesOf(token, "limit=3").Sessions {
			if code, body := paged.as(token, "GET", "/api/v1/sessions/"+url.PathEscape(s.Key), ""); code != 200 || !strings.Contains(body, `"path":"`+s.Path+`"`) {
				t.Errorf("%s as %s: %d %s", s.Key, token, code, body)
			}
		}
		for _, key := range []string{beds, pond, vaulted, vaulted + "@00000000", "no", "@.bm8", "@", "@.../"} {
			gotCode, got := paged.as(token, "GET", "/api/v1/sessions/"+url.PathEscape(key), "")
			wantCode, want := whole.as(token, "GET", "/api/v1/sessions/"+url.PathEscape(key), "")
			if event := regexp.MustCompile(`"event":"[^"]*"`); gotCode != wantCode || event.ReplaceAllString(got, "") != event.ReplaceAllString(want, "") {
				t.Errorf("%s as %s: %d %s, and listed %d %s", key, token, gotCode, got, wantCode, want)
			}
		}
		for _, path := range []string{
			"/api/v1/usage", "/api/v1/usage?since=2026-02-16T10:15:00Z", "/api/v1/usage?until=2026-02-16T10:15:00Z&by=day", "/api/v1/usage?cwd=/vault",
			"/api/v1/usage?source=codex", "/usage.csv?since=all", "/usage?since=all", "/api/v1/sources",
			"/api/v1/runs", "/api/v1/runs?limit=2", "/api/v1/runs?cwd=/garden", "/api/v1/runs?cwd=/vault", "/api/v1/runs?session=" + beds, "/runs",
			"/api/v1/runs/7f1d7b7a-0000-4000-8000-000000000002", "/api/v1/runs/7f1d7b7a-0000-4000-8000-000000000003",
		} {
			if token == "everything" && path == "/api/v1/sources" {
				continue // it looks at the sources themselves
			}
			_, got := paged.as(token, "GET", path, "")
			cursor := regexp.MustCompile(`"next":"[^"]*"`)
			if code, want := whole.as(token, "GET", path, ""); cursor.ReplaceAllString(got, "") != cursor.ReplaceAllString(want, "") || code != 200 && code != 404 {
				t.Errorf("%s as %s: %d\n%s\n%s", path, token, code, got, want)
			}
		}
		_, got := paged.as(token, "GET", "/api/v1/search?q=tomatoes", "")
		if _, want := whole.as(token, "GET", "/api/v1/search?q=tomatoes", ""); got != want {
			t.Errorf("search as %s:\n%s\n%s", token, got, want)
		}
	}
	if code, body := paged.as("reader", "GET", "/api/v1/sessions?cursor=no", ""); code != 400 || !strings.Contains(body, "cursor") {
		t.Errorf("a wrong cursor: %d %s", code, body)
	}
	if _, body := paged.as("everything", "GET", "/metrics", ""); !strings.Contains(body, "treeline_catalogue_refreshes_total 0\n") {
		t.Error("all sessions were listed")
	}
}

// links returns the addresses of the sessions on a page, in order.
func links(body string) []string {
	list := regexp.MustCompile(`href="/s/([^"/?#]+)"`).FindAllString(body, -1)
	slices.Sort(list)
	return slices.Compact(list)
}

// The pages of an archive show the same sessions and relatives.
func TestArchivePages(t *testing.T) {
	t.Parallel()
	paged, whole := newArchives(t)
	for _, token := range []string{"everything", "reader"} {
		for _, path := range []string{"/", "/?sort=title", "/?title=*fork*", "/search?q=tomatoes", "/s/" + pond, "/s/0198a1b2-0000-7000-8000-000000000103", "/runs"} {
			_, got := paged.as(token, "GET", path, "", "Accept", "text/html")
			code, want := whole.as(token, "GET", path, "", "Accept", "text/html")
			odd := func(link string) bool { return strings.Contains(link, `/s/@`) || strings.Contains(link, `/s/%40`) }
			if diff := difftest.Diff(slices.DeleteFunc(links(want), odd), slices.DeleteFunc(links(got), odd)); diff != "" || code != 200 {
				t.Errorf("%s as %s: %d (-all are listed +asked):\n%s", path, token, code, diff)
			}
			if token == "reader" && strings.Contains(got, "/vault") {
				t.Errorf("%s shows another project", path)
			}
		}
	}
	if _, body := paged.as("everything", "GET", "/metrics", ""); !strings.Contains(body, "treeline_catalogue_refreshes_total 0\n") {
		t.Error("all sessions were listed")
	}
}

// A log that was replaced by one of another project is no longer visible to a token, even if nothing reports the change. A log that was
// replaced by one of the token's project becomes visible.
func TestLimitedReplaced(t *testing.T) {
	t.Parallel()
	m, _ := newArchives(t)
	root := strings.TrimSuffix(m.store.ArchivedPath(""), "/")
	all, err := m.store.OpenWriting(root, "")
	m.must(err)
	m.must(m.Close())
	m.start(func(o *server.Options) { o.Access, o.Clock, o.Archive, o.Write = m.book, m.clock, all, true })
	const ours, theirs, claude = "laptop-00000001/omp/--garden--/beds.jsonl", "vaultbox-00000003/omp/--vault--/shed.jsonl", "laptop-00000001/claude/-garden/"
	id := "0198a1b2-0000-4000-8000-00000000000e"
	line := `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"` + id + `","cwd":%q,"timestamp":"2026-02-16T10:00:00.000Z","message":{"role":"user","content":"x"}}`
	session, output := claude+id+".jsonl", claude+id+"/tool-results/x.txt"
	for name, text := range map[string]string{session: fmt.Sprintf(line, "/garden"), output: "long output"} {
		_, err := all.Create(t.Context(), name, []byte(text))
		m.must(err)
	}
	sees := func(want bool, names ...string) {
		t.Helper()
		_, list := m.sends("reader", "GET", "/logs", "")
		for _, name := range names {
			code, body := m.sends("reader", "GET", "/logs/content?name="+name, "")
			if (code == 200) != want || strings.Contains(list, name) != want {
				t.Errorf("%s: %d %s, in the list: %t; want it to be seen: %t", name, code, body, strings.Contains(list, name), want)
			}
		}
	}
	for range 2 {
		sees(true, ours, session, output)
		sees(false, theirs)
	}
	for name, text := range map[string]string{
		ours: strings.ReplaceAll(head(beds), "/garden", "/vault"), theirs: head(vaulted), session: fmt.Sprintf(line, "/vault"),
	} {
		at, err := all.Stat(t.Context(), name)
		m.must(err)
		code, body := m.sends("everything", "POST", fmt.Sprintf("/logs/replace?name=%s&generation=%s&size=%d", name, at.Generation, at.Size), strings.TrimSpace(text)+"\n")
		if code != 200 {
			t.Fatalf("%s: %d %s; want the status 200", name, code, body)
		}
	}
	sees(false, ours, session, output)
	sees(true, theirs)
}
