package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// compareLists makes the comparison "lists".
func compareLists(ctx context.Context, opt options) error {
	for _, l := range []*lister{
		{program: pi15, dialect: "pi", root: ".pi/agent/sessions"},
		{program: omp13, dialect: "omp", root: ".omp/agent/sessions", recents: true},
	} {
		if err := l.run(ctx, opt); err != nil {
			return fmt.Errorf("%s: %w", l.program.name, err)
		}
	}
	return nil
}

// lister compares the lists of one agent.
type lister struct {
	program program
	dialect string
	root    string // below the home
	recents bool   // it has a list of recent sessions, which does not order sessions of the same time

	home, work string
	peer       *peer
	ours       *client
	cli        *cli
	rows       int
}

// run makes new folders for each seed. The agent and the library keep running.
func (l *lister) run(ctx context.Context, opt options) (err error) {
	// oh-my-pi has special rules for the temporary folder, so some working directories are below the home and some beside it.
	base, err := filepath.EvalSymlinks(opt.work)
	if err != nil {
		return err
	}
	l.home, l.work = filepath.Join(base, l.dialect, "home"), filepath.Join(base, l.dialect, "work")
	if err := os.MkdirAll(l.home, 0o700); err != nil {
		return err
	}
	if l.peer, err = l.program.start(opt, l.home); err != nil {
		return err
	}
	defer l.peer.stop()
	if l.ours, err = newClient(ctx, l.home); err != nil {
		return err
	}
	defer l.ours.close()
	if l.cli, err = newCLI(ctx, base, l.home); err != nil {
		return err
	}
	began := time.Now()
	for i := range opt.folders {
		seed := opt.seed + uint64(i)
		if err := l.trial(ctx, seed); err != nil {
			return fmt.Errorf("folder %d of seed %d: %w", i, seed, err)
		}
	}
	fmt.Printf("interop: %d folders, %d rows: %s and this library list, call recent and continue the same (%d comparisons, %.1f s)\n",
		opt.folders, l.rows, l.peer.name, l.peer.asked, time.Since(began).Seconds())
	return nil
}

// trial fills the agent's folder and asks both sides the same. "a-b" and "a/b" share one folder in both programs, a link has two names, and
// one directory does not exist.
func (l *lister) trial(ctx context.Context, seed uint64) error {
	root := filepath.Join(l.home, filepath.FromSlash(l.root))
	if err := errors.Join(os.RemoveAll(root), os.RemoveAll(l.work)); err != nil {
		return err
	}
	cwds := []string{filepath.Join(l.work, "a-b"), filepath.Join(l.work, "a/b"), filepath.Join(l.home, "proj"), "/nowhere/at all", filepath.Join(l.work, "link")}
	for _, dir := range cwds[:3] {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.Symlink("a-b", cwds[4]); err != nil {
		return err
	}
	f := newFolders(seed, !l.recents)
	dirs := make([]string, len(cwds))
	for i, cwd := range cwds {
		// The agent names its folder, so its rule is compared as well.
		if err := l.peer.ask(command{Op: "dir", CWD: cwd}, &dirs[i]); err != nil {
			return err
		}
		if err := f.fill(dirs[i], cwd); err != nil {
			return err
		}
	}
	own := filepath.Join(l.work, "own") // a session folder for all directories
	// Without the link: each agent treats the two names of a directory differently from us.
	if err := f.fill(own, append(slices.Clone(cwds[:4]), "")...); err != nil {
		return err
	}
	for _, dir := range []string{root, filepath.Join(root, "deep", "er"), filepath.Join(root, ".hidden")} {
		if f.in(3) {
			if err := f.fill(dir, cwds[0]); err != nil {
				return err
			}
		}
	}
	if f.pi && f.in(3) {
		if err := os.Symlink(own, filepath.Join(root, "--linked--")); err != nil {
			return err
		}
	}
	return l.compare(ctx, f, cwds, dirs, own)
}

// command is a question for both sides.
type command struct {
	Op    string `json:"op"`
	CWD   string `json:"cwd,omitempty"`
	Dir   string `json:"dir,omitempty"`
	Limit *int   `json:"limit,omitempty"`
}

// compare asks all commands. Each is one method of the agents' session manager.
func (l *lister) compare(ctx context.Context, f *folders, cwds, dirs []string, own string) error {
	var commands []command
	for i, cwd := range cwds {
		commands = append(commands, command{Op: "list", CWD: cwd}, command{Op: "list", CWD: cwd, Dir: dirs[i]})
		if i < 4 {
			commands = append(commands, command{Op: "list", CWD: cwd, Dir: own})
		}
	}
	commands = append(commands, command{Op: "listAll"}, command{Op: "list", CWD: cwds[0], Dir: filepath.Join(own, "not there")})
	if !l.recents {
		commands = append(commands, command{Op: "listAll", Dir: own})
	}
	for _, dir := range append(dirs, own) {
		commands = append(commands, command{Op: "mostRecent", Dir: dir})
		if l.recents {
			limit := f.rnd.IntN(12)
			commands = append(commands, command{Op: "recent", Dir: dir}, command{Op: "recent", Dir: dir, Limit: &limit})
		}
	}
	var wrong []error
	for _, c := range commands {
		if err := l.ask(c); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", spell(c), err))
		}
	}
	return errors.Join(append(wrong, l.compareLs(ctx), l.goOn(ctx, cwds, dirs, own))...)
}

// goOn compares the sessions that each side continues. Continuing may migrate or create a file, so the folders are restored
// after each.
func (l *lister) goOn(ctx context.Context, cwds, dirs []string, own string) error {
	var wrong []error
	for i, cwd := range cwds[:4] { // the last is another name of the first
		for _, dir := range []string{"", own} {
			c := command{Op: "continue", CWD: cwd, Dir: dir}
			var theirs, ours *string
			if err := l.keeping(ctx, func() error { return l.peer.ask(c, &theirs) }); err != nil {
				return fmt.Errorf("%s: %w", spell(c), err)
			}
			err := l.keeping(ctx, func() (err error) { ours, err = l.ours.continues(l.dialect, cwd, dir); return err })
			switch {
			case err == nil && reflect.DeepEqual(theirs, ours) || l.excused(theirs, ours, cwd, dir):
			case dir == "" && ours != nil && filepath.Dir(*ours) != dirs[i]: // a session of that directory in another folder
			case err != nil && strings.Contains(err.Error(), "newer version"): // this library never writes to it
			case err != nil:
				wrong = append(wrong, fmt.Errorf("%s: %w", spell(c), err))
			default:
				wrong = append(wrong, fmt.Errorf("%s:\nwe say    %s\nit says   %s", spell(c), head(ours), head(theirs)))
			}
		}
	}
	return errors.Join(wrong...)
}

// excused reports whether the difference is intended. The agent takes the newest file of the folder, even if it is of another directory, of
// a newer version or, in oh-my-pi, one of several of the same time; or, in a session folder for all directories, one without a directory.
// FORMATS.md has a row for each of these.
func (l *lister) excused(theirs, ours *string, cwd, dir string) bool {
	if theirs == nil {
		return false
	}
	text, err := os.ReadFile(*theirs)
	if err != nil {
		return false
	}
	var header struct {
		CWD     any
		Version int
	}
	for line := range strings.Lines(string(text)) {
		if json.Unmarshal([]byte(line), &header) == nil {
			break
		}
	}
	of := header.CWD == cwd || header.CWD == nil && dir == ""
	return header.Version > 3 || !of || l.recents && ours != nil && sameAge(*theirs, *ours)
}

// head returns the name of a file and its first bytes.
func head(path *string) string {
	if path == nil {
		return "a new one"
	}
	text, err := os.ReadFile(*path)
	if err != nil {
		return err.Error()
	}
	return *path + "\n          " + string(text[:min(len(text), 300)])
}

func sameAge(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && x.ModTime().Equal(y.ModTime())
}

// keeping calls do and then restores all sessions. cp -a keeps times and links.
func (l *lister) keeping(ctx context.Context, do func() error) error {
	dirs := []string{filepath.Join(l.home, filepath.FromSlash(l.root)), l.work}
	for _, dir := range dirs {
		if out, err := exec.CommandContext(ctx, "cp", "-a", dir, dir+".kept").CombinedOutput(); err != nil {
			return fmt.Errorf("cp: %w: %s", err, out)
		}
	}
	err := do()
	for _, dir := range dirs {
		err = errors.Join(err, os.RemoveAll(dir), os.Rename(dir+".kept", dir))
	}
	return err
}

// ask asks both sides and compares the answers.
func (l *lister) ask(c command) error {
	if c.Op == "mostRecent" {
		var theirs, ours *string
		if err := errors.Join(l.peer.ask(c, &theirs), l.ours.list(l.dialect, c, &ours)); err != nil {
			return err
		}
		if reflect.DeepEqual(ours, theirs) || l.recents && ours != nil && theirs != nil && sameAge(*ours, *theirs) {
			return nil
		}
		return fmt.Errorf("we say    %s\nit says   %s", spell(ours), spell(theirs))
	}
	var theirs, ours []row
	if err := errors.Join(l.peer.ask(c, &theirs), l.ours.list(l.dialect, c, &ours)); err != nil {
		return err
	}
	l.rows += len(theirs)
	if l.recents {
		inOrder(theirs, c.Op == "recent")
		inOrder(ours, c.Op == "recent")
	}
	if reflect.DeepEqual(ours, theirs) || len(ours)+len(theirs) == 0 {
		return nil
	}
	return fmt.Errorf("we have\n%s\nit has\n%s", onlyIn(ours, theirs), onlyIn(theirs, ours))
}

// onlyIn lists the rows of a list that the other list does not have, or all paths if only the order differs.
func onlyIn(list, other []row) string {
	var s strings.Builder
	for _, r := range list {
		if !slices.ContainsFunc(other, func(o row) bool { return reflect.DeepEqual(r, o) }) {
			s.WriteString(spell(r) + "\n")
		}
	}
	if s.Len() == 0 && len(list) == len(other) {
		for _, r := range list {
			s.WriteString(r.path() + "\n")
		}
	}
	return s.String()
}

// row is a row of a list. It is a slice because the order of members is compared as well.
type row []member

type member struct {
	Name  string
	Value any
}

// UnmarshalJSON reads an object.
func (r *row) UnmarshalJSON(text []byte) error {
	*r = row{}
	for name, value := range rawjson.Fields(text) {
		m := member{Name: name}
		if err := json.Unmarshal(value, &m.Value); err != nil {
			return err
		}
		*r = append(*r, m)
	}
	return nil
}

// get returns a member, nil if it is missing.
func (r row) get(name string) any {
	if i := slices.IndexFunc(r, func(m member) bool { return m.Name == name }); i >= 0 {
		return r[i].Value
	}
	return nil
}

func (r row) path() string {
	s, _ := r.get("path").(string)
	return s
}

// when returns the time by which the list is sorted.
func (r row) when() any { return cmp.Or(r.get("mtime"), r.get("modified")) }

// inOrder sorts rows of the same time by their path: oh-my-pi has them in the order in which it read the files. In a list that is cut off,
// the last rows keep only their time, since any row of that time may be missing.
func inOrder(rows []row, cut bool) {
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && rows[to].when() == rows[from].when() {
			to++
		}
		slices.SortFunc(rows[from:to], func(a, b row) int { return strings.Compare(a.path(), b.path()) })
		if to == len(rows) && cut {
			for i := from; i < to; i++ {
				rows[i] = row{{"mtime", rows[i].when()}}
			}
		}
		from = to
	}
}
