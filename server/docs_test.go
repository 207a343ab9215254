package server_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/store"
)

var update = flag.Bool("update", false, "write what the server answers into docs/http.md")

const docsFile = "../docs/http.md"

// docs/http.md lists every operation, and its examples show what the server really answers.
func TestDocumented(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing, func(o *server.Options) {
		o.Random = strings.NewReader("epoch")
		o.Writing = store.WriteOptions{Random: &counting{}}
	})
	text, err := os.ReadFile(docsFile)
	m.must(err)
	want := m.answered(m.listed(string(text)))
	if *update {
		m.must(os.WriteFile(docsFile, []byte(want), 0o644))
	}
	if diff := difftest.Diff(strings.Split(want, "\n"), strings.Split(string(text), "\n")); diff != "" && !*update {
		t.Errorf("docs/http.md differs; go test ./server -run Documented -update writes it:\n%s", diff)
	}
}

// counting is a source of ids that are the same in each run.
type counting struct{ n byte }

func (c *counting) Read(p []byte) (int, error) {
	c.n++
	for i := range p {
		p[i] = c.n
	}
	return len(p), nil
}

// listed puts the list of operations between their marks.
func (m *machine) listed(text string) string {
	m.Helper()
	const begin, end = "<!-- operations -->\n", "<!-- end -->"
	head, rest, ok := strings.Cut(text, begin)
	_, tail, found := strings.Cut(rest, end)
	if !ok || !found {
		m.Fatal("docs/http.md has no marks for the operations")
	}
	type operation struct {
		ID          string
		Tags        []string
		Description string
		Parameters  []struct{ Name, In string }
		RequestBody struct {
			Content map[string]struct {
				Schema struct{ Properties map[string]struct{} }
			}
		}
	}
	d := answer[struct {
		Tags  []struct{ Name string }
		Paths map[string]map[string]operation
	}](m, m.get("/api/v1/openapi.json"))
	var b strings.Builder
	b.WriteString(head + begin)
	for _, tag := range d.Tags {
		fmt.Fprintf(&b, "\n### %s\n\n| request | what it does | parameters |\n|---|---|---|\n", tag.Name)
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
				o := d.Paths[path][method]
				if o.Tags[0] != tag.Name {
					continue
				}
				var names []string
				for _, p := range o.Parameters {
					if p.In == "query" {
						names = append(names, "`"+p.Name+"`")
					}
				}
				for _, name := range slices.Sorted(maps.Keys(o.RequestBody.Content["application/json"].Schema.Properties)) {
					names = append(names, "`"+name+"`")
				}
				fmt.Fprintf(&b, "| `%s %s` | %s | %s |\n", strings.ToUpper(method), path, o.Description, strings.Join(names, ", "))
			}
		}
	}
	b.WriteString("\n" + end + tail)
	return b.String()
}

// answered puts the server's answer after each command.
func (m *machine) answered(text string) string {
	m.Helper()
	var out []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```console"):
			inside = true
		case line == "```":
			inside = false
		case inside && !strings.HasPrefix(line, "$ "):
			continue // an old answer
		}
		out = append(out, line)
		if inside && strings.HasPrefix(line, "$ ") {
			out = append(out, m.curl(strings.TrimPrefix(line, "$ ")))
		}
	}
	return strings.Join(out, "\n")
}

var (
	shellWord = regexp.MustCompile(`'([^']*)'|(\S+)`)
	// varying matches what differs from one run to the next.
	varying = regexp.MustCompile(`"(modified|removed|active)":"20[^"]*"`)
	// number matches the number of the last event. The watch may report files that were written before it began.
	number = regexp.MustCompile(`("event":"65706f63)-\d+"`)
)

// curl does what a curl command line does, as far as the examples use it.
func (m *machine) curl(line string) string {
	m.Helper()
	method, body, url := "GET", "", ""
	var headers []string
	words := shellWord.FindAllStringSubmatch(line, -1)
	word := func(i int) string { return words[i][1] + words[i][2] }
	for i := 1; i < len(words); i++ {
		switch word(i) {
		case "-s":
		case "-X":
			i++
			method = word(i)
		case "-d":
			i++
			method, body = "POST", word(i)
		case "-H":
			i++
			name, value, _ := strings.Cut(word(i), ": ")
			headers = append(headers, name, value)
		default:
			url = word(i)
		}
	}
	path, ok := strings.CutPrefix(strings.ReplaceAll(url, "SESSION", beds), "http://127.0.0.1:7331")
	if !ok || word(0) != "curl" {
		m.Fatalf("not an example: %s", line)
	}
	w := m.ask(method, path, body, headers...)
	if w.Code >= http.StatusInternalServerError {
		m.Errorf("%s: %d; want w.Code < http.StatusInternalServerError", line, w.Code)
	}
	text := number.ReplaceAllString(strings.ReplaceAll(strings.TrimSpace(w.Body.String()), m.home, "/home/you"), `$1-0"`)
	return varying.ReplaceAllString(text, `"$1":"2026-02-16T10:00:01.000Z"`)
}
