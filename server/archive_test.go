package server_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/server"
)

// archive is an archive in memory.
type archive struct{ *memory.Backend }

// Identity implements backend.Identified.
func (archive) Identity(context.Context) (string, error) { return "the archive of the tests", nil }

const (
	shedLog  = "laptop-00000001/omp/shed.jsonl"
	rake     = "the picture of a rake"
	noted    = "{\"type\":\"session\"}\n"
	bytesAre = "application/octet-stream"
)

func newArchive() archive {
	b := memory.New()
	b.Put(shedLog, []byte(noted))
	return archive{b}
}

// archiveTries covers the operations on logs and blobs, in this order. The generations are those of backend/memory.
func archiveTries() []try {
	at := func(name string, generation, size int) string {
		return fmt.Sprintf("?name=%s&generation=%d&size=%d", url.QueryEscape(name), generation, size)
	}
	const tool, copied = "laptop-00000001/omp/tool.jsonl", "laptop-00000001/omp/copy.jsonl"
	ref := blob.Sum([]byte(rake)).String()
	refers := fmt.Sprintf("{\"image\":%q}\n", ref)
	list := []try{
		{"getArchive", "/logs/identity", "", `"the archive of the tests"`},
		{"listLogs", "/logs?prefix=laptop", "", `{"name":"` + shedLog},
		{"listLogFolders", "/logs/folders?below=laptop-00000001", "", `["omp"]`},
		{"getLog", "/logs/stat?name=" + shedLog, "", `"size":19`},
		{"readLog", "/logs/content?from=2&to=6&tail=3&name=" + shedLog, "", "type\"}\n"},
		{"createLog", "/logs/create?name=" + tool, "{}\n", `"size":3`},
		{"appendToLog", "/logs/append" + at(tool, 2, 3), refers, fmt.Sprintf(`"size":%d`, 3+len(refers))},
		{"putBlob", "/blobs/" + ref + "?log=" + tool, rake, "{}"},
		{"findMissingBlobs", "/logs/missing?log=" + tool, ref + "\n" + strings.Replace(ref, ref[12:20], "00000000", 1) + "\n", `["blob:sha256:00000000`},
		{"getArchivedBlob", "/blobs/" + ref + "?log=" + tool, "", rake},
		{"replaceLog", "/logs/replace" + at(tool, 2, 3+len(refers)), "{}\n", `"size":3`},
		{"overwriteLog", "/logs/overwrite?mark=4&name=" + copied, "mark{\"torn", `"size":6`},
		{"extendLog", "/logs/extend" + at(copied, 4, 6), "\"}\n", `"size":9`},
		{"removeLog", "/logs/remove" + at(tool, 3, 3), "", tool},
	}
	for i := range list {
		list[i].path = "/api/v1" + list[i].path
	}
	return list
}

// Invalid requests are refused with a status of their own, and nothing is changed.
func TestArchiveRefuses(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing)
	missing := blob.Sum([]byte("no log refers to it")).String()
	for _, c := range []struct {
		method, path, body string
		want               int
		code               string
	}{
		{"GET", "/logs/stat?name=no/no/no.jsonl", "", 404, "not-exist"},
		{"GET", "/logs/stat?name=../../etc/passwd", "", 400, "name"},
		{"GET", "/logs/stat?name=/etc/passwd", "", 400, "name"},
		{"GET", "/logs/stat?name=a%00b", "", 400, "name"},
		{"GET", "/logs/stat?name=" + strings.Repeat("n", 2001), "", 400, "name"},
		{"GET", "/logs/stat?name=" + strings.Repeat("n", 9000), "", 414, ""},
		{"GET", "/logs/stat", "", 400, ""},
		{"GET", "/logs/stat?name=a&colour=red", "", 400, ""},
		{"GET", "/logs/folders?below=..", "", 400, "name"},
		{"GET", "/logs?prefix=" + strings.Repeat("n", 2001), "", 400, ""},
		{"GET", "/logs?limit=-1", "", 400, ""},
		{"GET", "/logs/content?name=" + shedLog + "&from=-1", "", 400, ""},
		{"GET", "/logs/content?name=" + shedLog + "&from=20", "", 400, ""},
		{"GET", "/logs/content?name=" + shedLog + "&from=9&to=8", "", 400, ""},
		{"GET", "/logs/content?name=" + shedLog + "&from=99999999999999999999", "", 400, ""},
		{"GET", "/logs/content?name=" + shedLog + "&generation=7&size=19", "", 409, "changed"},
		{"GET", "/logs/content?name=" + shedLog + "&generation=1&size=20", "", 409, "changed"},
		{"POST", "/logs/create?name=" + shedLog, "{}\n", 409, "exist"},
		{"POST", "/logs/create?name=" + shedLog + "/below.jsonl", "{}\n", 400, "name"},
		{"POST", "/logs/create?name=a/b/c.jsonl", "{}", 422, "record"},
		{"POST", "/logs/append?name=" + shedLog, "{}\n", 409, "conflict"},
		{"POST", "/logs/append?name=" + shedLog + "&generation=1&size=18", "{}\n", 409, "conflict"},
		{"POST", "/logs/append?name=" + shedLog + "&generation=1&size=19", "{}", 422, "record"},
		{"POST", "/logs/replace?name=" + shedLog + "&generation=2&size=19", "{}\n", 409, "conflict"},
		{"POST", "/logs/remove?name=" + shedLog + "&generation=1&size=0", "", 409, "conflict"},
		{"POST", "/logs/remove?name=" + shedLog + "&generation=1&size=19", "a body", 413, ""},
		{"POST", "/logs/extend?name=" + shedLog + "&generation=1&size=19&mark=1048577", "{}\n", 413, ""},
		{"POST", "/logs/extend?name=" + shedLog + "&generation=1&size=19&mark=4", "{}\n", 400, ""},
		{"POST", "/logs/extend?name=a/b/c.json&generation=1&size=19", "{}\n", 422, "record"},
		{"POST", "/logs/overwrite?name=" + shedLog, "{}\n", 409, "exist"},
		{"GET", "/blobs/blob:sha256:00?log=" + shedLog, "", 400, "ref"},
		{"GET", "/blobs/" + missing + "?log=" + shedLog, "", 404, "no-blob"},
		{"GET", "/blobs/" + missing + "?log=no/no/no.jsonl", "", 404, "not-exist"},
		{"GET", "/blobs/" + missing, "", 400, ""},
		{"PUT", "/blobs/" + missing + "?log=" + shedLog, "other bytes", 422, "corrupt"},
		{"POST", "/logs/missing?log=" + shedLog, "no reference\n", 400, "ref"},
		{"POST", "/logs/missing?log=" + shedLog, strings.Repeat(missing+"\n", 1001), 413, ""},
	} {
		w := m.ask(c.method, "/api/v1"+c.path, c.body, "Content-Type", bytesAre)
		if w.Code != c.want || w.Header().Get("Treeline-Error") != c.code || !strings.Contains(w.Body.String(), `"message"`) {
			t.Errorf("%s %.80s: %d %q %.200s, want %d %q", c.method, c.path, w.Code, w.Header().Get("Treeline-Error"), w.Body, c.want, c.code)
		}
	}
	if w := m.ask("POST", "/api/v1/logs/create?name=a/b/c.jsonl", "{}\n", "Content-Type", "text/plain"); w.Code != 415 {
		t.Errorf("a form of another site: %d", w.Code)
	}
	if w := m.ask("POST", "/api/v1/logs/create?name=a/b/c.jsonl", "{}\n", "Content-Type", bytesAre, "Content-Encoding", "br"); w.Code != 415 {
		t.Errorf("an unknown encoding: %d", w.Code)
	}
	if w := m.ask("POST", "/api/v1/logs/create?name=a/b/c.jsonl", "no zstd\n", "Content-Type", bytesAre, "Content-Encoding", "zstd"); w.Code != 400 {
		t.Errorf("a damaged encoding: %d %s", w.Code, w.Body)
	}
	if got := m.get("/api/v1/logs"); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"size":19`) {
		t.Errorf("the archive has changed: %s", got)
	}
}

// A server that only reads changes nothing, and a server without an archive says so.
func TestNoArchive(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, one := range archiveTries() {
		path, _, _ := strings.Cut(one.path, "?")
		method := "POST"
		if strings.HasSuffix(one.op, "Blob") {
			method = "PUT"
		}
		if one.body == "" && one.op != "removeLog" || one.op == "findMissingBlobs" {
			continue // this one only reads
		}
		if w := m.ask(method, one.path, one.body, "Content-Type", bytesAre); w.Code != 403 || !strings.Contains(w.Body.String(), "--write") {
			t.Errorf("%s of a server that only reads: %d %s", path, w.Code, w.Body)
		}
	}
	m.must(m.Close())
	m.start(func(o *server.Options) { o.Archive = nil })
	if w := m.ask("GET", "/api/v1/logs", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "no archive") || w.Header().Get("Treeline-Logs") != "1" {
		t.Errorf("without an archive: %d %s", w.Code, w.Body)
	}
}
