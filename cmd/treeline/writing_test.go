package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
)

// captureCmd puts the first line of the last output into a variable: capture FILE
func captureCmd(ts *testscript.TestScript, _ bool, args []string) {
	line, _, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	ts.Setenv(args[0], line)
}

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d([:-]\d\d([.-]\d{3})?Z)?|\d{8}T\d{6}\.\d{3}Z|\b1[78]\d{11}\b|\b\d\d:\d\d\b`)
	digits = regexp.MustCompile(`\b[0-9a-f]{8}\b`)
)

type namesKey struct{}

// stableCmd prints the last output or a file with stable names for everything that differs from run to run. An id keeps its
// name throughout a script: stable stdout
func stableCmd(ts *testscript.TestScript, _ bool, args []string) {
	names := ts.Value(namesKey{}).(map[string]string)
	name := func(prefix string) func(string) string {
		return func(s string) string {
			if names[s] == "" {
				names[prefix] += "."
				names[s] = fmt.Sprintf("%s%d", prefix, len(names[prefix]))
			}
			return names[s]
		}
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "WORK")
	// The name of the work folder is part of other names.
	text = strings.ReplaceAll(text, strings.NewReplacer("/", "-", ".", "-").Replace(strings.TrimPrefix(ts.Getenv("WORK"), "/")), "WORK")
	text = uuids.ReplaceAllStringFunc(text, name("SESSION"))
	text = times.ReplaceAllString(text, "TIME")
	text = digits.ReplaceAllStringFunc(text, name("ENTRY"))
	_, err := ts.Stdout().Write([]byte(text))
	ts.Check(err)
}

// globCmd prints the one file that matches a pattern, or expects none: glob s.jsonl.torn-*
func globCmd(ts *testscript.TestScript, neg bool, args []string) {
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if neg {
		if len(found) > 0 {
			ts.Fatalf("%s fits %v", args[0], found)
		}
		return
	}
	if len(found) != 1 {
		ts.Fatalf("%s fits %d files: %v", args[0], len(found), found)
	}
	_, err = ts.Stdout().Write([]byte(ts.ReadFile(found[0])))
	ts.Check(err)
}

// bigCmd writes a message of some bytes: big FILE 600000
func bigCmd(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprint(w, `{"role":"user","content":"`)
	for ; n > 0; n -= 100 {
		fmt.Fprint(w, strings.Repeat("x", min(n, 100)))
	}
	fmt.Fprintln(w, `"}`)
	ts.Check(w.Flush())
}

// endless is an input without a newline.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A line that is too long for a record is refused without reading the rest of it, and the file stays as it was.
func TestAppendTooLong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	const before = `{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work"}` + "\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _, stderr := testApp(t)
	a.Stdin = endless{}
	code := run(t.Context(), a, []string{"append", path, "--stdin"})
	if code != exitProblem || !strings.Contains(stderr.String(), "line 1: longer than the 134 MB that an entry can have") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != before {
		t.Errorf("the file is %q (%v)", after, err)
	}
}

// talk runs 'treeline append --stdin' and returns functions that write a line and read a receipt.
func talk(t *testing.T, args ...string) (say func(string), hear func() string, end func() (code int, stderr string)) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var stderr bytes.Buffer
	a := cli.New()
	a.Stdin, a.Stdout, a.Stderr = inR, outW, &stderr
	code := make(chan int, 1)
	go func() {
		code <- run(context.Background(), a, args)
		outW.Close()
	}()
	acks := bufio.NewScanner(outR)
	say = func(line string) {
		t.Helper()
		if _, err := io.WriteString(inW, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	hear = func() string {
		acks.Scan()
		return acks.Text()
	}
	end = func() (int, string) {
		inW.Close()
		go func() {
			for acks.Scan() {
			}
		}()
		return <-code, stderr.String()
	}
	return say, hear, end
}

// Another program writes at the same time: nothing is lost, and a message says what happened.
func TestAppendWhileOthersWrite(t *testing.T) {
	const header = `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work"}`
	theirs := `{"type":"message","id":"theirs","parentId":null,"timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"user","content":"theirs"}}`
	for _, c := range []struct {
		policy, parent, stderr string
		code                   int
	}{
		{"branch", "null", "other programs wrote 1 entry meanwhile; your entries form a branch of their own", 0},
		{"follow", `"theirs"`, "other programs wrote 1 entry meanwhile; your entries continue from there", 0},
		{"refuse", "", "line 2: ", 1},
	} {
		t.Run(c.policy, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			path := filepath.Join(t.TempDir(), "s.jsonl")
			if err := os.WriteFile(path, []byte(header+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			say, hear, end := talk(t, "append", path, "--stdin", "--json", "--on-conflict", c.policy)
			// A blank line is read only after the file was opened.
			say("")
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(theirs + "\n"); err != nil {
				t.Fatal(err)
			}
			f.Close()
			say(`{"role":"user","content":"ours"}`)
			ack := hear()
			code, stderr := end()
			if code != c.code || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, stderr %s", code, stderr)
			}
			if c.code == 0 && !strings.Contains(ack, `"parentId":`+c.parent+`,"durable":true,"foreign":1,"outcome":"`+c.policy+`"`) {
				t.Errorf("acknowledged with %s", ack)
			}
			log, err := os.ReadFile(path)
			if err != nil || !strings.HasPrefix(string(log), header+"\n"+theirs+"\n") || (c.code == 0) != strings.Contains(string(log), "ours") {
				t.Errorf("the log is %s, %v", log, err)
			}
		})
	}
}

// In a format without branches the entry follows theirs, and the message says so.
func TestAppendLinearWhileOthersWrite(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	a, stdout, stderr := testApp(t)
	if code := run(t.Context(), a, []string{"new", "--dialect", "wave", "--cwd", t.TempDir()}); code != exitFine {
		t.Fatalf("exit code %d: %s; want 0", code, stderr)
	}
	path := strings.TrimSpace(stdout.String())
	say, hear, end := talk(t, "append", path, "--stdin", "--json")
	say("") // it is read only after the file was opened
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	theirs := `{"timestamp":"2026-03-02T14:00:00.000Z","id":"theirs","role":"user","blocks":[{"type":"text","content":"theirs"}]}`
	if err := os.WriteFile(path, append(log, theirs+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	say(`{"role":"user","blocks":[{"type":"text","content":"ours"}]}`)
	ack := hear()
	code, told := end()
	if want := "your entries continue from there"; code != exitFine || !strings.Contains(told, want) {
		t.Errorf("exit code %d, stderr %s; want 0 and %q", code, told, want)
	}
	if want := `"parentId":"theirs"`; !strings.Contains(ack, want) {
		t.Errorf("acknowledged with %s, want %s", ack, want)
	}
}

// Each line is acknowledged before the next is read.
func TestAppendAnswersAtOnce(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(`{"type":"session","version":3,"id":"s1","timestamp":"t","cwd":"/"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	say, hear, end := talk(t, "append", path, "--stdin", "--sync", "always")
	for i := range 3 {
		say(fmt.Sprintf(`{"role":"user","content":"%d"}`, i))
		id := hear()
		log, err := os.ReadFile(path)
		if err != nil || len(id) != 8 || !strings.Contains(string(log), `"id":"`+id+`"`) {
			t.Errorf("%q is acknowledged, and the log is %s", id, log)
		}
	}
	if code, stderr := end(); code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
}
