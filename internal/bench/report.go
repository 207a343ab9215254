package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// part is a group that was run.
type part struct {
	name string
	rows []row
	took time.Duration
}

// machine describes where and when a report was made.
type machine struct {
	began time.Time
	facts [][2]string
}

// here describes this machine. Unknown facts are left out.
func here(ctx context.Context) machine {
	m := machine{began: time.Now()}
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			m.facts = append(m.facts, [2]string{name, value})
		}
	}
	tool := func(name string, args ...string) string {
		if _, err := exec.LookPath(name); err != nil {
			return ""
		}
		out, err := output(ctx, ".", name, args...)
		if err != nil {
			return ""
		}
		line, _, _ := strings.Cut(out, "\n")
		return line
	}
	commit := tool("git", "log", "-1", "--format=%h of %cs")
	if tool("git", "status", "--porcelain", "--untracked-files=no") != "" {
		commit += ", with changes"
	}
	add("commit", commit)
	add("date", m.began.UTC().Format(time.DateOnly))
	processor := field("/proc/cpuinfo", "model name")
	if processor == "" {
		processor = runtime.GOARCH
	}
	add("processor", fmt.Sprintf("%s, %d cores", processor, runtime.NumCPU()))
	add("memory", field("/proc/meminfo", "MemTotal"))
	add("system", tool("uname", "-sr"))
	add("Go", runtime.Version())
	add("Node", tool("node", "--version"))
	add("ripgrep", tool("rg", "--version"))
	add("load before", loadAverage())
	return m
}

// field returns the first value of a name in a file of the kernel, "" if there is none.
func field(path, name string) string {
	data, _ := os.ReadFile(path) // only Linux has it
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadAverage returns the mean number of processes that wanted to run, over 1, 5 and 15 minutes.
func loadAverage() string {
	data, _ := os.ReadFile("/proc/loadavg") // only Linux has it
	words := strings.Fields(string(data))
	return strings.Join(words[:min(3, len(words))], " ")
}

// document returns the report.
func (b *bench) document(m machine) []byte {
	var out bytes.Buffer
	fmt.Fprint(&out, "# Benchmarks\n\nWritten by `make bench-report`; nothing here is edited by hand. Each figure stands beside a baseline from the same run, since a figure\n"+
		"alone says more about the machine than about the program.\n\n| | |\n|---|---|\n")
	facts := append(m.facts, [2]string{"load after", loadAverage()}, [2]string{"duration", time.Since(m.began).Round(time.Second).String()},
		[2]string{"clock", fmt.Sprintf("%s, the best of %d rounds or more", clockName, b.rounds)})
	if b.quick {
		facts = append(facts, [2]string{"size", "a tenth of the data (`-quick`)"})
	}
	for _, f := range facts {
		fmt.Fprintf(&out, "| %s | %s |\n", f[0], f[1])
	}
	met, missed := 0, []row{}
	for _, r := range b.rows {
		switch r.verdict() {
		case "ok":
			met++
		case "below":
			missed = append(missed, r)
		}
	}
	fmt.Fprintf(&out, "\nOf %d rows with a target %d meet it.", met+len(missed), met)
	if len(missed) > 0 {
		fmt.Fprint(&out, " These do not:\n\n")
		writeRows(&out, missed)
	} else {
		fmt.Fprintln(&out)
	}
	b.writePromises(&out)
	for _, p := range b.parts {
		if len(p.rows) > 0 {
			fmt.Fprintf(&out, "\n## %s\n\n", p.name)
			writeRows(&out, p.rows)
		}
	}
	return out.Bytes()
}

// writeRows writes rows as a table.
func writeRows(out *bytes.Buffer, rows []row) {
	fmt.Fprint(out, "| what | figure | baseline | ratio | target | |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		cells := r.cells()
		if strings.HasPrefix(cells[0], "  ") {
			cells[0] = "… " + strings.TrimSpace(cells[0])
		}
		fmt.Fprintln(out, "| "+strings.Join(cells, " | ")+" |")
	}
}

// writePromises lists the promises: those that this run measured with their worst row, then the others with the command that measures them.
func (b *bench) writePromises(out *bytes.Buffer) {
	fmt.Fprint(out, "\n## Promises\n\n| promise | rows | |\n|---|---|---|\n")
	var others []promise
	for _, p := range promises {
		rows, ok := b.measured(p)
		if len(rows) == 0 {
			others = append(others, p)
			continue
		}
		verdict := fmt.Sprintf("all of %d met", len(rows))
		switch {
		case ok < 0:
			verdict = "no target"
		case ok < len(rows):
			verdict = fmt.Sprintf("%d of %d met", ok, len(rows))
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", p.what, strings.TrimSpace(rows[0].what), verdict)
	}
	if len(others) == 0 {
		return
	}
	fmt.Fprint(out, "\nNot measured here:\n\n| promise | what measures it |\n|---|---|\n")
	for _, p := range others {
		how := p.elsewhere
		if how == "" {
			how = "a group of `go run ./internal/bench` that was left out of this run"
		}
		fmt.Fprintf(out, "| %s | %s |\n", p.what, how)
	}
	for _, why := range b.missing {
		line, _, _ := strings.Cut(why, "\n")
		fmt.Fprintf(out, "\nLeft out: %s.\n", line)
	}
}

// measured returns the rows of a promise that have a target, or if none has one, all of them; and how many are met, -1 without targets.
func (b *bench) measured(p promise) (rows []row, met int) {
	if p.rows == "" {
		return nil, 0
	}
	names := regexp.MustCompile(p.rows)
	var all []row
	for _, r := range b.rows {
		if !names.MatchString(r.what) {
			continue
		}
		all = append(all, r)
		if v := r.verdict(); v != "" {
			rows = append(rows, r)
			if v == "ok" {
				met++
			}
		}
	}
	if len(rows) == 0 {
		return all, -1
	}
	return rows, met
}
