package termsvg_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/termsvg"
)

// TestWrite: the picture is XML, shows each text at its column and in its style, and cuts what does not fit.
func TestWrite(t *testing.T) {
	t.Parallel()
	scenes := []termsvg.Scene{
		{Command: "first <&>", Output: "\x1b[1;36mab\x1b[0m  ● x\nlast\nbelow the screen\n", Reading: time.Second},
		{Command: "second", Output: "\n", Reading: time.Second},
	}
	var out bytes.Buffer
	if err := termsvg.Write(&out, termsvg.Size{Columns: 40, Rows: 4}, "a & b", scenes); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(out.String()))
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		if c, ok := token.(xml.CharData); ok {
			text.Write(c)
		}
	}
	for _, want := range []string{"a & b", "first <&>", "second", "last"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the picture does not show %q", want)
		}
	}
	for _, want := range []string{`<tspan x="16.0" class="b c">ab</tspan>`, `<tspan x="58.0"> x</tspan>`, "animation-duration:3.48s", "@keyframes s1{0%{visibility:hidden}"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the picture has no %s in:\n%s", want, out.String())
		}
	}
	if strings.Contains(text.String(), "below") {
		t.Error("the picture shows a line below the screen")
	}
}
