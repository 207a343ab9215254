// Command dependencies writes docs/dependencies.md: every module that go.mod names, with its version, its licence, why it is there, and
// what it costs in the program.
//
//	go run ./internal/dependencies -o docs/dependencies.md
//
// The size is that of a module's symbols (code and data) in a program for Linux. The time is what its packages take before main on this
// machine, each the least of 30 starts. Both are measured at each run.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	out := flag.String("o", "", "write to `FILE` instead of standard output")
	flag.Parse()
	page, err := document()
	if err == nil && *out != "" {
		err = os.WriteFile(*out, page, 0o644)
	} else if err == nil {
		_, err = os.Stdout.Write(page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dependencies:", err)
		os.Exit(1)
	}
}

// reasons are why go.mod names a module directly. The others are there because one of these needs them.
var reasons = map[string]string{
	"charm.land/bubbletea/v2":                "the terminal program: keys, mouse, frames, resizing",
	"charm.land/lipgloss/v2":                 "colours and frames of the terminal program",
	"github.com/anishathalye/porcupine":      "tests: is a recorded history of a database that of a compare-and-swap?",
	"github.com/charmbracelet/x/ansi":        "cuts text with escape sequences to the columns of a terminal",
	"github.com/chromedp/cdproto":            "tests: the protocol of chromedp",
	"github.com/chromedp/chromedp":           "tests: pages of the viewer in a real browser",
	"github.com/clipperhouse/displaywidth":   "how many columns a character takes on a terminal",
	"github.com/fsnotify/fsnotify":           "the system tells which files changed, for `watch`, the viewer and the terminal program",
	"github.com/gofrs/uuid/v5":               "tests: reads the ids of Wave, UUIDs of version 6, as Wave does",
	"github.com/jackc/pgx/v5":                "archives in PostgreSQL; only its connection layer is linked",
	"github.com/klauspost/compress":          "Codex compresses old sessions with zstd; responses of the server",
	"github.com/modelcontextprotocol/go-sdk": "`treeline mcp`: the official library of the protocol",
	"github.com/pelletier/go-toml/v2":        "config.toml",
	"github.com/rogpeppe/go-internal":        "tests: command lines as scripts",
	"github.com/spf13/cobra":                 "commands, flags, help and completions for four shells",
	"github.com/spf13/pflag":                 "the flags of cobra",
	"github.com/yuin/goldmark":               "Markdown of sessions, in the viewer, exports and the terminal program",
	"golang.org/x/sys":                       "locks, leases and mapped files; which instructions the processor has",
	"golang.org/x/term":                      "the size of a terminal, and a question without echo",
	"modernc.org/sqlite":                     "the prompt history, and agents that keep sessions in SQLite; no C compiler is needed",
}

// document makes the page.
func document() ([]byte, error) {
	modules, err := required()
	if err != nil {
		return nil, err
	}
	if err := findUses(modules); err != nil {
		return nil, err
	}
	total, err := measure(modules)
	if err != nil {
		return nil, err
	}
	var linked, indirect, others []*module
	for _, m := range modules {
		switch {
		case m.where != everySystem && m.where != someSystems:
			others = append(others, m)
		case m.Indirect:
			indirect = append(indirect, m)
		default:
			linked = append(linked, m)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Dependencies

Made by `+"`make dependencies`"+` with %s. The program for Linux on amd64 has %.1f MB without symbols. Of these the modules below have %.1f MB of
code and data, treeline itself %.1f MB, and tables of functions and lines %.1f MB; the rest is the standard library, types and texts, which
no module owns alone. The column *size* has code and data. The column *start* has the time of initialisation before main, the least of
%d starts; all packages together, the standard library and treeline included, take %.2f ms. A release has the texts of all licences in `+"`THIRD-PARTY-LICENSES.txt`"+`.

`, total.golang, mb(total.program), mb(total.modules), mb(total.self), mb(total.lines), starts, ms(total.start))
	write := func(title, about string, list []*module) {
		slices.SortFunc(list, func(x, y *module) int { return strings.Compare(x.Path, y.Path) })
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| module | version | licence | why | size | start |\n|---|---|---|---|---|---|\n", title, about)
		for _, m := range list {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", m.Path, m.Version, m.licence, m.why(), m.sizeText(), m.startText())
		}
		b.WriteString("\n")
	}
	write("In the program", "Imported by treeline itself.", linked)
	write("In the program, through others", "Imported by a module above.", indirect)
	write("Not in the program", "For tests, or named by another module only.", others)
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

// why returns the reason, or which modules import it.
func (m *module) why() string {
	text := reasons[m.Path]
	if m.Indirect {
		text = "for `" + strings.Join(m.importers, "`, `") + "`"
		if len(m.importers) == 0 {
			text = "named in the go.mod of others"
		}
	}
	if m.where == someSystems {
		text += "; not on every system"
	}
	return text
}

func (m *module) sizeText() string {
	if m.size == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f KB", float64(m.size)/1e3)
}

func (m *module) startText() string {
	if m.start == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f ms", ms(m.start))
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func mb(bytes int64) float64 { return float64(bytes) / 1e6 }

// run runs a command with one more environment variable and returns its output and its stderr.
func run(env, name string, args ...string) (stdout, stderr []byte, err error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), strings.Fields(env)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, &said)
	}
	return out.Bytes(), said.Bytes(), nil
}
