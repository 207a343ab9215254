package server_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/server/logs"
)

// Logs of an archive: our own, and those of another machine and project.
const (
	ourLog   = "laptop-00000001/omp/--garden--/beds.jsonl"
	theirLog = "vaultbox-00000002/omp/--vault--/shed.jsonl"
	ourRun   = "laptop-00000001/codelia/2026/02/03/" + theRun + ".jsonl"
	theirRun = "vaultbox-00000002/codelia/2026/02/03/" + secretRun + ".jsonl"
)

// newTeamArchive returns a team whose sessions are in an archive. writers are the writers that were recorded with its writes.
func newTeamArchive(t *testing.T) (m *team, writers *[]string) {
	t.Helper()
	m = newTeam(t)
	m.must(m.Close())
	m.must(m.store.Close())
	var err error
	root := "team://archive"
	m.store, err = treeline.New(treeline.Options{
		Backends: []backend.Driver{memory.ArchiveDriver("team")}, Roots: []string{root}, Home: m.home, WorkDir: m.home,
		Getenv: func(string) string { return "" }, NoBreadcrumbs: true,
	})
	m.must(err)
	all, err := m.store.OpenWriting(root, "")
	m.must(err)
	plan, dotted := "a plan of the vault", dot
	ours := head(beds) + said("b1", "", "user", "Where do the tomatoes go? "+blob.Sum([]byte(dotted)).String())
	theirs := strings.ReplaceAll(head(vaulted), "/garden", "/vault") + said("s1", "", "user", "The combination is "+blob.Sum([]byte(plan)).String())
	line := `{"type":"header","schema_version":1,"run_id":%q,"session_id":"x","started_at":"2026-02-03T12:34:56.789Z","runtime":{"cwd":%q}}` + "\n"
	for name, text := range map[string]string{
		ourLog: ours, theirLog: theirs, ourRun: fmt.Sprintf(line, theRun, "/garden"), theirRun: fmt.Sprintf(line, secretRun, "/vault"),
	} {
		var records [][]byte
		for one := range strings.Lines(text) {
			records = append(records, []byte(strings.TrimSuffix(one, "\n")))
		}
		_, err := all.Create(t.Context(), name, records...)
		m.must(err)
	}
	for log, text := range map[string]string{ourLog: dotted, theirLog: plan} {
		kept := all.(blob.Keeper).Blobs(log)
		if kept == nil {
			t.Fatal("the archive keeps no blobs")
		}
		_, err := kept.Put(t.Context(), []byte(text))
		m.must(err)
	}
	writers = &[]string{}
	m.start(func(o *server.Options) {
		o.Access, o.Write, o.Clock, o.Archive = m.book, true, m.clock, all
		o.ArchiveAs = func(writer backend.Writer) (backend.Backend, error) {
			*writers = append(*writers, writer.Name)
			return m.store.OpenAs(writer, root, "")
		}
	})
	return m, writers
}

// sends sends bytes with a token.
func (m *team) sends(token, method, path, body string) (int, string) {
	m.Helper()
	w := m.ask(method, "/api/v1"+path, body, "Authorization", "Bearer "+m.tokens[token], "Content-Type", bytesAre)
	return w.Code, w.Body.String()
}

// A token for one project sees that project's logs and runs in the archive, and of others neither names, sizes, origins, contents nor
// blobs. It may write only there. An operation that is not in the list fails the test.
func TestLimitedArchive(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	plan := blob.Sum([]byte("a plan of the vault")).String()
	at := func(name string) string { return "?name=" + url.QueryEscape(name) + "&generation=1&size=1" }
	elsewhere := strings.ReplaceAll(head("0198a1b2-0000-7000-8000-0000000000ff"), "/garden", "/elsewhere")
	type request struct {
		path, body string
		// hidden means that it is about a log of another project, and is answered as if that log did not exist. Otherwise the answer
		// contains want.
		hidden bool
		status int
		want   string
	}
	requests := map[string][]request{
		"getArchive":     nil, // the name of the archive reveals nothing
		"listLogs":       {{path: "/logs", want: ourLog}, {path: "/logs?marks=true", want: ourRun}, {path: "/logs?prefix=vaultbox", want: `"end":true`}},
		"listLogFolders": {{path: "/logs/folders", want: `["laptop-00000001"]`}, {path: "/logs/folders?below=vaultbox-00000002", want: "[]"}},
		"getLog":         {{path: "/logs/stat?name=" + theirLog, hidden: true}, {path: "/logs/stat?name=" + theirRun, hidden: true}, {path: "/logs/stat?name=" + ourRun, want: "size"}},
		"readLog":        {{path: "/logs/content?name=" + theirLog, hidden: true}, {path: "/logs/content?name=" + ourLog, want: "tomatoes"}},
		"watchLogs":      nil, // tested below
		"getArchivedBlob": {{path: "/blobs/" + plan + "?log=" + theirLog, hidden: true},
			{path: "/blobs/" + plan + "?log=" + ourLog, status: 404, want: "does not refer"}},
		"findMissingBlobs": {{path: "/logs/missing?log=" + theirLog, body: plan + "\n", hidden: true},
			{path: "/logs/missing?log=" + ourLog, body: blob.Sum([]byte(dot)).String() + "\n", want: "[]"}},
		"createLog":    {{path: "/logs/create?name=laptop-00000001/omp/--elsewhere--/a.jsonl", body: elsewhere, status: 403, want: "not for the project"}},
		"appendToLog":  {{path: "/logs/append" + at(theirLog), body: "{}\n", hidden: true}},
		"replaceLog":   {{path: "/logs/replace" + at(theirLog), body: head(beds), hidden: true}},
		"removeLog":    {{path: "/logs/remove" + at(theirLog), hidden: true}},
		"extendLog":    {{path: "/logs/extend" + at(theirLog), body: "{}\n", hidden: true}},
		"overwriteLog": {{path: "/logs/overwrite" + at(theirLog), body: head(beds), hidden: true}},
		"putBlob":      {{path: "/blobs/" + blob.Sum([]byte("x")).String() + "?log=" + theirLog, body: "x", hidden: true}},
	}
	for _, row := range logs.Rows() {
		list, ok := requests[row.Name]
		if !ok {
			t.Errorf("%s is not classified: say what a limited token sees of it", row.Name)
		}
		for _, r := range list {
			for _, token := range []string{"writer", "reader"} {
				code, body := m.sends(token, row.Method, r.path, r.body)
				if row.Writes && token == "reader" {
					if code != 403 || !strings.Contains(body, "may only read") {
						t.Errorf("%s as a reader: %d %s", r.path, code, body)
					}
					continue
				}
				for _, secret := range append(secrets, "vaultbox", plan) {
					if strings.Contains(body, secret) && !strings.Contains(r.path+r.body, secret) {
						t.Errorf("%s as %s: %q is in the answer: %s", r.path, token, secret, body)
					}
				}
				want := max(r.status, 200)
				if r.hidden {
					want = 404
					none := strings.NewReplacer(theirLog, "nobody-00000003/omp/--none--/none.jsonl", url.QueryEscape(theirLog), url.QueryEscape("nobody-00000003/omp/--none--/none.jsonl"),
						theirRun, "nobody-00000003/codelia/2026/02/03/none.jsonl")
					// If a log does not exist, a limited token may create it for its own project.
					if row.Name != "overwriteLog" && row.Name != "putBlob" && row.Name != "findMissingBlobs" {
						code2, body2 := m.sends(token, row.Method, none.Replace(r.path), r.body)
						if code2 != code || body2 != none.Replace(body) {
							t.Errorf("%s as %s: %d %s\nof none: %d %s", r.path, token, code, body, code2, body2)
						}
					}
				}
				if code != want || !strings.Contains(body, r.want) {
					t.Errorf("%s %s as %s: %d %s", row.Method, r.path, token, code, body)
				}
			}
		}
	}
}

// A limited token that may only read does not learn which logs and blobs of others exist by asking for a log that does not.
func TestLimitedMissing(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	plan := blob.Sum([]byte("a plan of the vault")).String() + "\n"
	for _, log := range []string{theirLog, "nobody-00000003/omp/--none--/none.jsonl"} {
		if code, body := m.sends("reader", "POST", "/logs/missing?log="+log, plan); code != 404 {
			t.Errorf("%s: %d %s; want code == 404", log, code, body)
		}
	}
	if code, body := m.sends("reader", "POST", "/logs/missing?log="+ourLog, plan); code != 200 || !strings.Contains(body, strings.TrimSpace(plan)) {
		t.Errorf("a blob of others is not missing: %d %s", code, body)
	}
}

// A limited token cannot put anything into the folder of another project's session, and learns nothing from the attempt.
func TestLimitedFolder(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	all, err := m.store.OpenWriting("team://archive", "")
	m.must(err)
	const id, dir = "0198a1b2-0000-4000-8000-00000000000e", "vaultbox-00000002/claude/-vault/"
	line := `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"` + id + `","cwd":%q,"timestamp":"2026-02-16T10:00:00.000Z","message":{"role":"user","content":"x"}}`
	_, err = all.Create(t.Context(), dir+id+".jsonl", []byte(fmt.Sprintf(line, "/vault/secret")))
	m.must(err)
	for _, name := range []string{dir + id + "/subagents/agent-1.jsonl", dir + id + "/tool-results/x.txt"} {
		for _, how := range []string{"create", "overwrite"} {
			code, body := m.sends("writer", "POST", "/logs/"+how+"?name="+name, fmt.Sprintf(line, "/garden")+"\n")
			if code != 403 || strings.Contains(body, "/vault/secret") {
				t.Errorf(`%s %s: %d %s; want code == 403, not strings.Contains(body, "/vault/secret")`, how, name, code, body)
			}
			if _, err := all.Stat(t.Context(), name); !errors.Is(err, backend.ErrNotExist) {
				t.Errorf("%s is there: %v", name, err)
			}
		}
	}
}

// A limited token cannot read what a log held before it became one of the token's project.
func TestLimitedHold(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	all, err := m.store.OpenWriting("team://archive", "")
	m.must(err)
	at, err := all.Stat(t.Context(), theirLog)
	m.must(err)
	old := fmt.Sprintf("/logs/content?hold=true&name=%s&generation=%s&size=%d", url.QueryEscape(theirLog), at.Generation, at.Size)
	if code, body := m.sends("looker", "GET", old, ""); code != 200 || !strings.Contains(body, "combination") {
		t.Fatalf(`%d %s; want code == 200, strings.Contains(body, "combination")`, code, body)
	}
	_, err = all.Replace(t.Context(), at, []byte(strings.TrimSpace(head(vaulted))))
	m.must(err)
	m.later(time.Minute)
	if code, body := m.sends("reader", "GET", old, ""); code == 200 || strings.Contains(body, "combination") {
		t.Errorf(`%d %s; want code != 200, not strings.Contains(body, "combination")`, code, body)
	}
	if code, _ := m.sends("looker", "GET", old, ""); code != 200 {
		t.Errorf("a caller that may read everything does not read on: %d", code)
	}
}

// A write to the archive is recorded with the token's user and machine, both in the log and in the audit log.
func TestArchiveWriter(t *testing.T) {
	t.Parallel()
	m, writers := newTeamArchive(t)
	if code, body := m.sends("writer", "POST", "/logs/create?name=laptop-00000001/omp/--garden--/new.jsonl", head("0198a1b2-0000-7000-8000-0000000000aa")); code != 200 {
		t.Fatalf("%d %s; want code == 200", code, body)
	}
	if !slices.Equal(*writers, []string{"bob@box (token writer)"}) {
		t.Errorf("written as %q", *writers)
	}
	m.must(m.Close())
	list, err := m.book.Records(t.Context(), access.Query{Outcome: access.Done})
	m.must(err)
	if len(list) != 1 || list[0].Action != "createLog" || list[0].Target != "laptop-00000001/omp/--garden--/new.jsonl" || list[0].Project != "/garden" ||
		list[0].User != "bob" || list[0].Machine != "box" {
		t.Errorf(`%+v; want len(list) == 1, list[0].Action == "createLog", list[0].Target == "laptop-00000001/omp/--garden--/new.jsonl", list[0].Project == "/garden", list[0].User == "bob", list[0].Machine == "box"`, list)
	}
	m.start()
}

// A write is in the audit log even if its client is gone when it is answered.
func TestAuditGone(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	for _, one := range []struct{ path, kind, body string }{
		{"/logs/create?name=laptop-00000001/omp/--garden--/new.jsonl", bytesAre, head("0198a1b2-0000-7000-8000-0000000000aa")},
		{"/sessions/" + beds + "/label", "application/json", `{"entry":"b1","label":"x"}`},
	} {
		r := httptest.NewRequest("POST", "/api/v1"+one.path, strings.NewReader(one.body))
		r.Host = "127.0.0.1:7331"
		r.Header.Set("Authorization", "Bearer "+m.tokens["writer"])
		r.Header.Set("Content-Type", one.kind)
		func() {
			defer func() {
				if p := recover(); p != http.ErrAbortHandler {
					t.Errorf("%s: panic %v, want that the connection ends", one.path, p)
				}
			}()
			m.ServeHTTP(deaf{httptest.NewRecorder()}, r)
		}()
	}
	m.must(m.Close())
	list, err := m.book.Records(t.Context(), access.Query{})
	m.must(err)
	actions := map[string]string{}
	for _, one := range list {
		actions[one.Action] = string(one.Outcome)
	}
	if want := map[string]string{"createLog": string(access.Done), "label": string(access.Done)}; !maps.Equal(actions, want) {
		t.Errorf("noted %v, want %v", actions, want)
	}
	m.start()
}

// The events of the archive have the names of the token's logs.
func TestLimitedArchiveEvents(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	l := m.hearAs(m.listen()+"/api/v1/logs/events", "", "Bearer "+m.tokens["reader"])
	for _, one := range []struct{ name, cwd string }{{"vaultbox-00000002/omp/--vault--/new.jsonl", "/vault"}, {"laptop-00000001/omp/--garden--/new.jsonl", "/garden"}} {
		text := strings.ReplaceAll(head("0198a1b2-0000-7000-8000-0000000000bb"), "/garden", one.cwd)
		if code, body := m.sends("everything", "POST", "/logs/create?name="+one.name, text); code != 200 {
			t.Fatalf("%d %s; want code == 200", code, body)
		}
	}
	for {
		e := l.next()
		if strings.Contains(strings.Join(e[:], " "), "vault") {
			t.Fatalf("an event of another project: %v", e)
		}
		if strings.Contains(e[2], "--garden--/new.jsonl") {
			return
		}
	}
}

// A stream ends when its token is revoked, so a stolen token gets no more events.
func TestRevokedEvents(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	base := m.listen()
	var streams []*listener
	for _, path := range []string{"/api/v1/logs/events", "/api/v1/events"} {
		streams = append(streams, m.hearAs(base+path, "", "Bearer "+m.tokens["looker"]))
	}
	_, err := m.book.Revoke(t.Context(), "looker", m.now)
	m.must(err)
	m.later(time.Minute)
	if code, body := m.sends("everything", "POST", "/logs/create?name=laptop-00000001/omp/--garden--/new.jsonl", head("0198a1b2-0000-7000-8000-0000000000bb")); code != 200 {
		t.Fatalf("%d %s; want code == 200", code, body)
	}
	for _, l := range streams {
		for open := true; open; {
			var e [3]string
			select {
			case e, open = <-l.events:
			case <-time.After(10 * time.Second):
				t.Fatal("a stream of a revoked token goes on")
			}
			if strings.Contains(e[2], "new.jsonl") || strings.Contains(e[2], "0000000000bb") {
				t.Errorf("a revoked token hears %v", e)
			}
		}
	}
}

// A limited token that knows the reference of another project's blob cannot read the blob by writing the reference: neither in a new log
// nor in an old one, however the reference is written, and whether or not the blob existed at that time. It can read the blobs of its
// projects, also through copies that it makes, and the blobs that it stores itself.
func TestLimitedBlobs(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	const plan, later, fresh = "a plan of the vault", "a plan that comes later", "a picture of bob"
	ref := func(content string) string { return blob.Sum([]byte(content)).String() }
	picture := func(id, ref string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"2026-02-16T10:00:00.000Z","message":{"role":"user","content":[{"type":"image","data":"%s","mimeType":"image/png"}]}}`+"\n", id, ref)
	}
	reads := func(token, log, content string, want bool) {
		t.Helper()
		if code, body := m.sends(token, "GET", "/blobs/"+ref(content)+"?log="+log, ""); (code == 200 && body == content) != want {
			t.Errorf("%s reads %q through %s: %d %s", token, content, log, code, body)
		}
	}
	does := func(token, method, path, body string) string {
		t.Helper()
		code, answer := m.sends(token, method, path, body)
		if code != 200 {
			t.Fatalf("%s %s as %s: %d %s", method, path, token, code, answer)
		}
		return answer
	}
	at := func(name string) string {
		answer := does("everything", "GET", "/logs/stat?name="+name, "")
		var row struct {
			Generation string
			Size       int64
		}
		m.must(json.Unmarshal([]byte(answer), &row))
		return fmt.Sprintf("?name=%s&generation=%s&size=%d", name, row.Generation, row.Size)
	}
	const newID, newLog = "0198a1b2-0000-7000-8000-0000000000aa", "laptop-00000001/omp/--garden--/new.jsonl"
	escaped := strings.Replace(ref(plan), ref(plan)[20:21], fmt.Sprintf(`\u%04x`, ref(plan)[20]), 1)
	does("writer", "POST", "/logs/create?name="+newLog, head(newID)+picture("a1", ref(plan))+picture("a2", ref(later))+picture("a3", escaped)+picture("a4", ref(fresh)))
	does("writer", "POST", "/logs/append"+at(ourLog), picture("c1", ref(plan)))
	does("writer", "POST", "/logs/extend"+at(newLog), picture("a5", ref(plan))[:150])
	does("writer", "POST", "/logs/extend"+at(newLog), picture("a5", ref(plan))[150:])
	for _, log := range []string{newLog, ourLog} {
		for _, token := range []string{"writer", "reader", "everything"} {
			reads(token, log, plan, false)
		}
		if missing := does("writer", "POST", "/logs/missing?log="+log, ref(plan)+"\n"); !strings.Contains(missing, ref(plan)) {
			t.Errorf("a writer learns by %s that there is a blob: %s", log, missing)
		}
	}
	reads("everything", theirLog, plan, true)
	does("everything", "PUT", "/blobs/"+ref(later)+"?log="+theirLog, later)
	reads("writer", newLog, later, false)
	m.later(time.Minute)
	if code, body := m.as("writer", "GET", "/api/v1/sessions/"+newID+"/context?leaf=a5", ""); code != 200 || strings.Contains(body, base64.StdEncoding.EncodeToString([]byte(plan))) {
		t.Errorf("a context: %d %s", code, body)
	}
	// It can read what it stored, and what the log referred to before.
	does("writer", "PUT", "/blobs/"+ref(fresh)+"?log="+newLog, fresh)
	reads("writer", newLog, fresh, true)
	does("writer", "PUT", "/blobs/"+ref(plan)+"?log="+newLog, plan) // it has the content after all
	reads("reader", newLog, plan, true)
	reads("reader", ourLog, plan, false)
	reads("reader", ourLog, dot, true)
	// A copy that the server makes has the pictures of its original.
	code, body := m.as("writer", "POST", "/api/v1/sessions/"+newID+"/fork", "{}", "Content-Type", "application/json")
	var forked struct{ Path string }
	if err := json.Unmarshal([]byte(body), &forked); code != 200 || err != nil {
		t.Fatalf("%d %s; want a fork", code, body)
	}
	_, copied, _ := strings.Cut(forked.Path, "team://archive/")
	reads("writer", copied, fresh, true)
	reads("writer", copied, later, false)
	// Writing to a session is no different from writing to its log.
	code, body = m.as("writer", "POST", "/api/v1/sessions/"+beds+"/entries", fmt.Sprintf(`{"text":%q}`, "see "+ref(later)), "Content-Type", "application/json")
	if code != 200 {
		t.Fatalf("%d %s; want an entry", code, body)
	}
	if code, body := m.as("writer", "GET", "/api/v1/sessions/"+beds+"/blobs/"+ref(later), ""); code != 404 {
		t.Errorf("%d %s; want the status 404", code, body)
	}
	// After a log is removed, what only it could read can no longer be read.
	does("writer", "POST", "/logs/remove"+at(newLog), "")
	does("writer", "POST", "/logs/create?name="+newLog, head(newID)+picture("a1", ref(plan)))
	reads("writer", newLog, plan, false)
}

// A limited token does not read a session that has become one of another project since the list was read.
func TestLimitedStale(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	all, err := m.store.OpenWriting("team://archive", "")
	m.must(err)
	path := "/api/v1/sessions/" + beds
	for _, part := range []string{"", "/entries", "/context"} {
		if code, body := m.as("reader", "GET", path+part, ""); code != 200 {
			t.Fatalf("%s: %d %s; want the status 200", part, code, body)
		}
	}
	at, err := all.Stat(t.Context(), ourLog)
	m.must(err)
	text := strings.ReplaceAll(head("hidden-id"), "/garden", "/vault") + said("s1", "", "user", "The combination is 1234")
	_, err = all.Replace(t.Context(), at, slices.Collect(func(yield func([]byte) bool) {
		for one := range strings.Lines(text) {
			if !yield([]byte(strings.TrimSuffix(one, "\n"))) {
				return
			}
		}
	})...)
	m.must(err)
	for _, part := range []string{"", "/entries", "/context"} {
		if code, body := m.as("reader", "GET", path+part, ""); code == 200 || strings.Contains(body, "combination") || strings.Contains(body, "/vault") || strings.Contains(body, "hidden-id") {
			t.Errorf("%s: %d %s; want no part of it", part, code, body)
		}
	}
}

// A limited token does not change a session that has become one of another project since the list was read, and learns nothing of it.
func TestLimitedStaleChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ action, params string }{{"label", `{"entry":"s1","label":"x"}`}, {"fork", `{}`}, {"fork", `{"leaf":"s1"}`}, {"trash", `{}`}} {
		m, _ := newTeamArchive(t)
		all, err := m.store.OpenWriting("team://archive", "")
		m.must(err)
		path := "/api/v1/sessions/" + beds
		if code, body := m.as("writer", "GET", path, ""); code != 200 {
			t.Fatalf("%d %s; want the status 200", code, body)
		}
		at, err := all.Stat(t.Context(), ourLog)
		m.must(err)
		before, err := all.Replace(t.Context(), at, []byte(strings.TrimSuffix(strings.ReplaceAll(head("hidden-id"), "/garden", "/vault"), "\n")),
			[]byte(strings.TrimSuffix(said("s1", "", "user", "The combination is 1234"), "\n")))
		m.must(err)
		code, body := m.as("writer", "POST", path+"/"+c.action, c.params, "Content-Type", "application/json")
		if code == 200 || strings.Contains(body, "combination") || strings.Contains(body, "/vault") || strings.Contains(body, "hidden-id") {
			t.Errorf("%s: %d %s; want no part of it", c.action, code, body)
		}
		if now, err := all.Stat(t.Context(), ourLog); err != nil || now.Generation != before.Generation || now.Size != before.Size {
			t.Errorf("%s: %+v, %v; want %+v", c.action, now, err, before)
		}
	}
}

// A limited token does not read a run that has become one of another project since the list was read.
func TestLimitedStaleRun(t *testing.T) {
	t.Parallel()
	m, _ := newTeamArchive(t)
	all, err := m.store.OpenWriting("team://archive", "")
	m.must(err)
	rows, err := m.store.Runs(t.Context(), treeline.RunListOptions{})
	m.must(err)
	row := rows[slices.IndexFunc(rows, func(r treeline.RunRow) bool { return r.Header.RunID == theRun })]
	garden := &access.Grant{Name: "reader", Projects: []string{"/garden"}}
	m.must(server.OpenRow(m.Server, garden, &row))
	at, err := all.Stat(t.Context(), ourRun)
	m.must(err)
	_, err = all.Replace(t.Context(), at,
		fmt.Appendf(nil, `{"type":"header","schema_version":1,"run_id":%q,"session_id":"x","started_at":"2026-02-03T12:34:56.789Z","runtime":{"cwd":"/vault"}}`, theRun))
	m.must(err)
	if err := server.OpenRow(m.Server, garden, &row); !errors.Is(err, runs.ErrNoRun) {
		t.Errorf("%v; want that there is no such run", err)
	}
	m.must(server.OpenRow(m.Server, nil, &row))
}
