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
// The fields above the blank line are what it is asked to compare, those below what it works with.
type lister struct {
	program program
	dialect string
	root    string // below the home
	recents bool   // it has a list of recent sessions, and gives no order to sessions of one time

	home, work string
	peer       *peer
	ours       *client
	cli        *cli
	rows       int
}

// The folders are made anew for each seed; agent, library and program run on through all of them.
func (l *lister) run(ctx context.Context, opt options) (err error) {
	// The temp folder has rules of its own in oh-my-pi: the directories that are worked in lie below the home, and beside it.
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
	fmt.Printf("interop: %d folders, lists with %d rows: %s and this library list, call recent and go on with the same (%d comparisons, %.1f s)\n",
		opt.folders, l.rows, l.peer.name, l.peer.asked, time.Since(began).Seconds())
	return nil
}

// trial fills the agent's folder and asks both sides the same.
// "a-b" and "a/b" have one folder in both programs, a link has two names, and one directory does not exist.
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
		// the agent says where its folder is, so its rule is compared as well
		if err := l.peer.ask(command{Op: "dir", CWD: cwd}, &dirs[i]); err != nil {
			return err
		}
		if err := f.fill(dirs[i], cwd); err != nil {
			return err
		}
	}
	own := filepath.Join(l.work, "own") // a folder of one's own, for all directories
	// Of a directory and its other name each agent thinks otherwise than we do: there is none here.
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

// command is what both sides are asked.
type command struct {
	Op    string `json:"op"`
	CWD   string `json:"cwd,omitempty"`
	Dir   string `json:"dir,omitempty"`
	Limit *int   `json:"limit,omitempty"`
}

// Each command is one method of the agents' session manager.
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
	var wrong []error // all of them: one is often the reason of another
	for _, c := range commands {
		if err := l.ask(c); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", spell(c), err))
		}
	}
	return errors.Join(append(wrong, l.compareLs(ctx), l.goOn(ctx, cwds, dirs, own))...)
}

// goOn compares with which session each side goes on. Both may write then: each gets the folders as they were.
// To go on may migrate or create a file, so folders are copied before and put back afterwards.
func (l *lister) goOn(ctx context.Context, cwds, dirs []string, own string) error {
	var wrong []error
	for i, cwd := range cwds[:4] { // the last one is another name of the first
		for _, dir := range []string{"", own} {
			c := command{Op: "continue", CWD: cwd, Dir: dir}
			var theirs, ours *string
			if err := l.keeping(ctx, func() error { return l.peer.ask(c, &theirs) }); err != nil {
				return fmt.Errorf("%s: %w", spell(c), err)
			}
			err := l.keeping(ctx, func() (err error) { ours, err = l.ours.continues(l.dialect, cwd, dir); return err })
			switch {
			case err == nil && reflect.DeepEqual(theirs, ours) || l.excused(theirs, ours, cwd, dir):
			case dir == "" && ours != nil && filepath.Dir(*ours) != dirs[i]: // of that directory, wherever it lies
			case err != nil && strings.Contains(err.Error(), "newer version"): // which we never write to
			case err != nil:
				wrong = append(wrong, fmt.Errorf("%s: %w", spell(c), err))
			default:
				wrong = append(wrong, fmt.Errorf("%s:\nwe say    %s\nit says   %s", spell(c), head(ours), head(theirs)))
			}
		}
	}
	return errors.Join(wrong...)
}

// excused says that we mean to go on with another session than the agent: it takes the newest file of the folder, be it that of
// another directory, of a newer version or, in oh-my-pi, one of several of that age; or one that says nothing of its directory in
// a folder that is nobody's.
// Every excuse is a row of FORMATS.md: what is not listed there is a difference.
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

// head names a file and shows how it begins.
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

// keeping does something and puts all sessions back as they were.
// cp -a keeps times and links, which is what the lists are made of.
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

// ask asks both sides and compares.
// Both answers are read before they are compared, so that one error does not hide the other's.
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
	if slices.EqualFunc(ours, theirs, row.equal) {
		return nil
	}
	return fmt.Errorf("\n%s", difference(ours, theirs))
}

// row is one of a list: what it says, in its order.
// A slice and not a map: the order of members is compared, too, since some clients show them as they come.
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

func (r row) equal(o row) bool { return reflect.DeepEqual(r, o) }

// get gives a member, nil where there is none.
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

// when is the time that orders the row.
func (r row) when() any { return cmp.Or(r.get("mtime"), r.get("modified")) }

// inOrder sorts rows of one time by their path: oh-my-pi has them in the order in which their files happened to be read. Of the
// last time some may have been cut off: then it does not matter which.
// when() is what the list is sorted by, so rows of one time are neighbours.
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

// difference tells two answers apart: rows by their paths, and in those that both have, the members that differ.
// The whole rows are shown only where they differ: a folder may have dozens.
func difference(ours, theirs []row) string {
	find := func(list []row, path string) row {
		if i := slices.IndexFunc(list, func(r row) bool { return r.path() == path }); i >= 0 {
			return list[i]
		}
		return nil
	}
	var s strings.Builder
	for _, r := range theirs {
		mine := find(ours, r.path())
		switch {
		case mine == nil:
			fmt.Fprintf(&s, "only it has  %s\n", spell(r))
		case !mine.equal(r):
			fmt.Fprintf(&s, "we say  %s\nit says %s\n", spell(mine), spell(r))
		}
	}
	for _, r := range ours {
		if find(theirs, r.path()) == nil {
			fmt.Fprintf(&s, "only we have %s\n", spell(r))
		}
	}
	if s.Len() > 0 {
		return s.String()
	}
	s.WriteString("another order: ours and its\n")
	for i := range min(len(ours), len(theirs)) {
		fmt.Fprintf(&s, "%s %s\n", filepath.Base(ours[i].path()), filepath.Base(theirs[i].path()))
	}
	return s.String()
}
