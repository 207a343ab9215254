// Package termsvg draws a terminal session as an animated SVG: commands that are typed, and their output. The picture needs no script, so a
// page may show it as an image.
package termsvg

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// A Scene is one command on an empty screen.
type Scene struct {
	Command string
	Output  string        // output with SGR colours
	Reading time.Duration // how long the output stays
}

// Size is the size of the terminal.
type Size struct{ Columns, Rows int }

// Metrics of the picture, in pixels.
const (
	cellWidth, cellHeight = 8.4, 18.0
	margin, bar           = 16.0, 30.0
	fontSize              = 14
)

// How long typing takes.
const (
	keyTime = 45 * time.Millisecond
	pause   = 400 * time.Millisecond
)

// classes are the styles that a command may use, by their SGR parameters.
var classes = []struct{ sgr, class, css string }{
	{"1", "b", "font-weight:bold"},
	{"2", "f", "fill:#8b949e"},
	{"3", "i", "font-style:italic"},
	{"31", "r", "fill:#ff7b72"},
	{"32", "g", "fill:#7ee787"},
	{"33", "y", "fill:#e3b341"},
	{"35", "m", "fill:#d2a8ff"},
	{"36", "c", "fill:#76e3ea"},
}

// Write draws the scenes one after the other, over and over.
func Write(w io.Writer, size Size, title string, scenes []Scene) error {
	out := bufio.NewWriter(w)
	width, height := float64(size.Columns)*cellWidth+2*margin, float64(size.Rows)*cellHeight+bar+margin
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n<title>%s</title>\n<style>\n",
		width, height, width, height, escape(title))
	fmt.Fprintf(out, "text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}\n", fontSize)
	for _, c := range classes {
		fmt.Fprintf(out, ".%s{%s}", c.class, c.css)
	}
	fmt.Fprintln(out)
	timing(out, scenes)
	fmt.Fprintf(out, "</style>\n"+`<rect width="%.0f" height="%.0f" rx="8" fill="#0d1117"/>`+"\n", width, height)
	for i, colour := range []string{"#ff5f56", "#ffbd2e", "#27c93f"} {
		fmt.Fprintf(out, `<circle cx="%d" cy="15" r="5" fill="%s"/>`, 20+i*18, colour)
	}
	fmt.Fprintln(out)
	for i, s := range scenes {
		fmt.Fprintf(out, `<g class="s s%d">`+"\n", i)
		fmt.Fprintf(out, `<g class="k k%d">`, i)
		drawLine(out, 0, "\x1b[36m$\x1b[0m "+s.Command)
		fmt.Fprintf(out, "</g>\n"+`<g class="o o%d">`+"\n", i)
		lines := strings.Split(strings.TrimRight(s.Output, "\n"), "\n")
		for row, line := range lines[:min(len(lines), size.Rows-2)] {
			drawLine(out, row+2, line)
		}
		fmt.Fprint(out, "</g>\n</g>\n")
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// timing writes what is visible when: a scene, the keys of its command one by one, then its output. A reader that wants no motion sees the
// first scene.
func timing(out io.Writer, scenes []Scene) {
	var total time.Duration
	for _, s := range scenes {
		total += s.typing() + pause + s.Reading
	}
	percent := func(t time.Duration) string { return fmt.Sprintf("%.2f%%", 100*float64(t)/float64(total)) }
	fmt.Fprint(out, ".s,.o{visibility:hidden}.s0,.o0{visibility:visible}\n@media(prefers-reduced-motion:no-preference){\n")
	fmt.Fprintf(out, ".s,.o,.k{animation-duration:%.2fs;animation-iteration-count:infinite}.s,.o{visibility:hidden;animation-timing-function:step-end}\n", total.Seconds())
	var at time.Duration
	for i, s := range scenes {
		typed, end := at+s.typing(), at+s.typing()+pause+s.Reading
		fmt.Fprintf(out, "@keyframes s%d{0%%{visibility:%s}%s{visibility:visible}%s{visibility:hidden}}\n", i, map[bool]string{true: "visible", false: "hidden"}[at == 0], percent(at), percent(end))
		fmt.Fprintf(out, "@keyframes o%d{0%%{visibility:hidden}%s{visibility:visible}%s{visibility:hidden}}\n", i, percent(typed+pause), percent(end))
		keys := utf8.RuneCountInString(s.Command)
		wide := float64(keys) * cellWidth
		fmt.Fprintf(out, "@keyframes k%d{0%%,%s{clip-path:inset(0 %.1fpx 0 0);animation-timing-function:steps(%d)}%s,100%%{clip-path:inset(0 0 0 0)}}\n",
			i, percent(at), wide, keys, percent(typed))
		fmt.Fprintf(out, ".s%d{animation-name:s%d}.o%d{animation-name:o%d}.k%d{animation-name:k%d}\n", i, i, i, i, i, i)
		at = end
	}
	fmt.Fprintln(out, "}")
}

// typing returns how long the command takes to type.
func (s Scene) typing() time.Duration {
	return time.Duration(utf8.RuneCountInString(s.Command)) * keyTime
}

// drawLine draws a line of the terminal. Each run of one style is positioned separately, and so is what follows a sign that fonts may draw
// wider than a letter.
func drawLine(out io.Writer, row int, line string) {
	y := bar + float64(row)*cellHeight + fontSize
	var spans strings.Builder
	class, column := "", 0
	text, from := "", 0
	flush := func() {
		if strings.TrimSpace(text) != "" {
			fmt.Fprintf(&spans, `<tspan x="%.1f"%s>%s</tspan>`, margin+float64(from)*cellWidth, class, escape(text))
		}
		text, from = "", column
	}
	for len(line) > 0 {
		if sgr, rest, ok := cutSGR(line); ok {
			flush()
			class, line = classOf(sgr), rest
			continue
		}
		r, n := utf8.DecodeRuneInString(line)
		text, line, column = text+string(r), line[n:], column+1
		if r >= utf8.RuneSelf {
			flush()
		}
	}
	flush()
	if spans.Len() > 0 {
		fmt.Fprintf(out, `<text y="%.1f">%s</text>`+"\n", y, spans.String())
	}
}

// cutSGR cuts a sequence that sets the style off the beginning of a line.
func cutSGR(line string) (sgr, rest string, ok bool) {
	after, ok := strings.CutPrefix(line, "\x1b[")
	if !ok {
		return "", line, false
	}
	return strings.Cut(after, "m")
}

// classOf returns the attribute for SGR parameters.
func classOf(sgr string) string {
	var names []string
	for p := range strings.SplitSeq(sgr, ";") {
		for _, c := range classes {
			if c.sgr == p {
				names = append(names, c.class)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(` class="%s"`, strings.Join(names, " "))
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
