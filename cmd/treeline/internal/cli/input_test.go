package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// A line that is too long takes no more memory than one that is not.
func TestReadLine(t *testing.T) {
	const most = 32 << 20
	for length, want := range map[int]string{10: "", most - 1: "", most: "longer than"} {
		line := append(bytes.Repeat([]byte("a"), length), "\nrest"...)
		in := bufio.NewReaderSize(bytes.NewReader(line), 64<<10)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := readLine(in, most)
		runtime.ReadMemStats(&after)
		// A slice that append alone lets grow would take five times the length.
		if took := after.TotalAlloc - before.TotalAlloc; took > most+most/4 {
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
