package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// allocated is what was allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A long line is copied once or twice on its way to the log: into its record and, for omp, its text or picture into a blob.
func TestAppendLongLine(t *testing.T) {
	const length = 32 << 20
	for name, line := range map[string]string{
		"text":  `{"role": "user", "content": "` + strings.Repeat("a", length) + `"}`,
		"image": `{"role": "user", "content": [{"type": "image", "mimeType": "image/png", "data": "` + strings.Repeat("QUJD", length/4) + `"}]}`,
	} {
		a, stdout, stderr := testApp(t)
		if code := run(t.Context(), a, []string{"new", "--dialect", "omp", "--cwd", t.TempDir()}); code != exitFine {
			t.Fatalf("%s: exit code %d, want 0", stderr, code)
		}
		path := strings.TrimSpace(stdout.String())
		a.stdin = strings.NewReader(line)
		before := allocated()
		if code := run(t.Context(), a, []string{"append", path, "--stdin"}); code != exitFine {
			t.Fatalf("%s: exit code %d, want 0", stderr, code)
		}
		if took := allocated() - before; took > length*9/2 { // under the race detector a little more than four times
			t.Errorf("%s: a line of %d bytes took %d, want at most %d", name, length, took, length*9/2)
		}
	}
}

// A line that is too long takes no more memory than one that is not.
func TestReadLine(t *testing.T) {
	const most = 32 << 20
	for length, want := range map[int]string{10: "", most - 1: "", most: "longer than"} {
		line := append(bytes.Repeat([]byte("a"), length), "\nrest"...)
		in := bufio.NewReaderSize(bytes.NewReader(line), 64<<10)
		before := allocated()
		text, err := readLine(in, most)
		// A slice that append alone lets grow would take five times the length.
		if took := allocated() - before; took > most+most/4 {
			t.Errorf("a line of %d bytes took %d", length, took)
		}
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a line of %d bytes: %v", length, err)
			}
			continue
		case err != nil || len(text) != length:
			t.Errorf("a line of %d bytes has %d, %v", length, len(text), err)
		}
		if rest, err := readLine(in, most); string(rest) != "rest" || !errors.Is(err, io.EOF) {
			t.Errorf("then %q, %v", rest, err)
		}
	}
}
