package main

import (
	"runtime"
	"strings"
	"testing"
)

// allocated returns the number of bytes allocated so far.
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
		a.Stdin = strings.NewReader(line)
		before := allocated()
		if code := run(t.Context(), a, []string{"append", path, "--stdin"}); code != exitFine {
			t.Fatalf("%s: exit code %d, want 0", stderr, code)
		}
		if took := allocated() - before; took > length*9/2 { // under the race detector a little more than four times
			t.Errorf("%s: a line of %d bytes took %d, want at most %d", name, length, took, length*9/2)
		}
	}
}
