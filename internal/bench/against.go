package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tolerance is how much worse a row may be: 10 %.
const tolerance = 1.1

// side is one of the two programs that are compared.
type side struct {
	name, dir, program string
	best               map[string]figure
}

// against compares this working tree with a revision: it builds the bench of both, runs them by turns, and prints the best
// figure of each row. The error counts the rows that are worse. The revision is measured by its own bench, of which only the
// columns "what" and "figure" of the table are read, so that packages and rows may change in between.
func against(ctx context.Context, rev string, rounds int, args []string) error {
	root, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "treeline-against-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	old := side{name: rev, dir: filepath.Join(dir, "rev"), best: map[string]figure{}}
	if _, err := output(ctx, root, "git", "worktree", "add", "--detach", old.dir, rev); err != nil {
		return err
	}
	// Not ctx: the worktree must be removed even after an interrupt.
	defer output(context.WithoutCancel(ctx), root, "git", "worktree", "remove", "--force", old.dir)
	now := side{name: "working tree", dir: root, best: map[string]figure{}}
	for i, s := range []*side{&old, &now} {
		s.program = filepath.Join(dir, "bench"+strconv.Itoa(i))
		if _, err := output(ctx, s.dir, "go", "build", "-o", s.program, "./internal/bench"); err != nil {
			return err
		}
	}
	var rows []string // in the order of the table of the working tree
	for n := range rounds {
		order := []*side{&old, &now}
		if n%2 == 1 {
			order = []*side{&now, &old}
		}
		for _, s := range order {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", n+1, rounds, s.name)
			found, err := s.measure(ctx, args)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if s == &now {
				rows = found
			}
		}
	}
	return compare(os.Stdout, &old, &now, rows)
}

// output runs a command and returns what it prints, without white space at the ends.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// measure runs the bench of one side once, and returns the names of its rows.
func (s *side) measure(ctx context.Context, args []string) ([]string, error) {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it removes its data
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return readTable(&out, func(row string, f figure) {
		if best, ok := s.best[row]; !ok || f.better(best) {
			s.best[row] = f
		}
	})
}

// readTable reads the table that a bench printed. Names of rows that occur twice are numbered.
func readTable(r io.Reader, take func(row string, f figure)) (rows []string, err error) {
	seen := map[string]int{}
	from, to := 0, 0 // of the column of figures, in characters
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := []rune(lines.Text())
		if to == 0 {
			if head := lines.Text(); strings.HasPrefix(head, "what ") {
				from = utf8.RuneCountInString(head[:strings.Index(head, "figure")])
				to = utf8.RuneCountInString(head[:strings.Index(head, "baseline")])
			}
			continue
		}
		if len(line) <= from {
			continue
		}
		row := strings.TrimRight(string(line[:from]), " ")
		if seen[row]++; seen[row] > 1 {
			row = fmt.Sprintf("%s (%d)", row, seen[row])
		}
		f, err := parseFigure(string(line[from:min(to, len(line))]))
		if err != nil {
			return nil, fmt.Errorf("row %q: %w", row, err)
		}
		rows = append(rows, row)
		take(row, f)
	}
	if to == 0 {
		return nil, errors.New("the bench printed no table")
	}
	return rows, lines.Err()
}

// figure is a measurement as a bench prints it.
type figure struct {
	text  string
	value float64
	// half is half a unit of the last digit: the value is no more precise.
	half float64
	rate bool // more is better
}

func parseFigure(text string) (f figure, err error) {
	f.text = strings.TrimSpace(text)
	number := strings.TrimRight(f.text, strings.TrimLeft(f.text, "-0123456789.e+"))
	if f.value, err = strconv.ParseFloat(number, 64); err != nil {
		return f, fmt.Errorf("%q is not a figure", f.text)
	}
	f.half = 0.5
	if _, digits, ok := strings.Cut(number, "."); ok {
		for range digits {
			f.half /= 10
		}
	}
	f.rate = strings.HasSuffix(f.text, "/s")
	return f, nil
}

func (f figure) better(than figure) bool {
	return f.value < than.value != f.rate && f.value != than.value
}

// worse reports whether a figure is worse than another by more than the tolerance and by more than rounding explains.
func (f figure) worse(than figure) bool {
	if f.rate {
		return (f.value+f.half)*tolerance < than.value-than.half
	}
	return f.value-f.half > (than.value+than.half)*tolerance
}

// compare prints the best figures of both sides.
func compare(w io.Writer, old, now *side, rows []string) error {
	lines := [][]string{{"what", old.name, now.name, "ratio", ""}}
	worse := 0
	for _, row := range rows {
		b := now.best[row]
		a, ok := old.best[row]
		if !ok {
			lines = append(lines, []string{row, "", b.text, "", "new"})
			continue
		}
		mark := ""
		if b.worse(a) {
			mark, worse = "worse", worse+1
		}
		lines = append(lines, []string{row, a.text, b.text, fmt.Sprintf("%.2f", b.value/a.value), mark})
	}
	printColumns(w, lines)
	if worse > 0 {
		return fmt.Errorf("%d of %d rows are worse by more than 10 %%", worse, len(rows))
	}
	return nil
}
