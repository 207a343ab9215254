package push_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/push"
)

// lying is an archive that lists logs under names of its choice, all with the content of one.
type lying struct {
	archive
	names []string
	real  string
}

func (l *lying) Folders(context.Context, string) (list []string, err error) {
	for _, name := range l.names {
		origin, _, _ := strings.Cut(name, "/")
		list = append(list, origin)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func (l *lying) Marks(ctx context.Context, prefix string) iter.Seq2[backend.Marked, error] {
	return func(yield func(backend.Marked, error) bool) {
		at, err := l.Stat(ctx, l.real)
		for _, name := range l.names {
			if at.Name = name; strings.HasPrefix(name, prefix) && !yield(backend.Marked{Log: at}, err) {
				return
			}
		}
	}
}

func (l *lying) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	at.Name = l.real
	return backend.OpenLog(ctx, l.archive, at)
}

// An archive determines only the names of sessions and of files in their folders: no other file is written, wherever it would be.
func TestPullHostileNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		opt  push.PullOptions
		want []string
	}{
		{"back", push.PullOptions{}, []string{
			".claude/projects/-garden/3f9a2c1b-0000-4000-8000-000000000001.jsonl",
			".claude/projects/-garden/3f9a2c1b-0000-4000-8000-000000000001/tool-results/x.txt",
			".claude/projects/-garden/memory.jsonl",
		}},
		{"others", push.PullOptions{Origins: []string{"*"}, Into: "into"}, []string{"into/other-00c0ffee/omp/sessions/x.jsonl"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.Put(".claude/projects/-garden/memory/MEMORY.md", "mine")
			d.log(a, 1)
			d.push(push.PushOptions{})
			real := origin + "/omp/-garden/" + file(a)
			d.Must(os.RemoveAll(d.At(".omp")))
			d.Must(os.RemoveAll(d.State))
			claude := origin + "/claude/-garden/"
			l := &lying{d.archive, []string{
				"../../x.jsonl", "../omp/x.jsonl", ".config/systemd/user/x.jsonl", "other-00c0ffee/../x.jsonl", "other-00c0ffee/.x/y.jsonl",
				`other-00c0ffee/omp\..\..\y/x.jsonl`, "c:/omp/x.jsonl", "other-00c0ffee/omp/x.jsonl", "other-00c0ffee/omp/run.sh",
				"other-00c0ffee/claude/settings.json", "other-00c0ffee/omp/../../../x.jsonl", "other-00c0ffee/omp/a\x00.jsonl",
				claude + "3f9a2c1b-0000-4000-8000-000000000001.jsonl", claude + "3f9a2c1b-0000-4000-8000-000000000001/tool-results/x.txt",
				claude + "memory.jsonl", claude + "memory/MORE.md", claude + "memory/MEMORY.md", claude + "settings.json",
				origin + "/claude/../settings.json", origin + "/codex/config.toml", origin + "/omp/../../auth.json",
			}, real}
			slices.Sort(l.names)
			if test.opt.Into != "" {
				test.opt.Into = d.At(test.opt.Into)
				l.names = slices.DeleteFunc(l.names, func(name string) bool { return strings.HasPrefix(name, origin) })
			}
			before := files(t, d.Home)
			_, err := d.copier().Pull(d.Context(), push.Target{Backend: l, Shown: "mem://team"}, test.opt)
			d.Must(err)
			var added []string
			for _, name := range files(t, d.Home) {
				if !slices.Contains(before, name) && !strings.HasPrefix(name, "state/") {
					added = append(added, name)
				}
			}
			slices.Sort(added)
			if diff := difftest.Diff(test.want, added); diff != "" {
				t.Error(diff)
			}
			d.holds(d.At(".claude/projects/-garden/memory/MEMORY.md"), "mine")
		})
	}
}

// files returns the files below a folder and next to it.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Dir(dir), func(at string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, err := filepath.Rel(dir, at)
			if err != nil {
				return err
			}
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Marks come from the archive, too: no mark stops the program, removes bytes from the log here, or adds bytes that the copy does not have.
func TestHostileMarks(t *testing.T) {
	t.Parallel()
	nothing := sha256.Sum256(nil)
	sum := hex.EncodeToString(nothing[:])
	marks := []string{`x`, `[]`, `{"v":1}`, `{"v":9}`}
	for _, of := range []int64{-5, 0} {
		for _, at := range []int64{-1, 7} {
			for _, more := range []string{``, `,"redacted":-1`, `,"elsewhere":[{"from":-9,"to":-5}]`, `,"elsewhere":[{"from":0,"to":4611686018427387904}]`} {
				marks = append(marks, fmt.Sprintf(`{"v":1,"of":%d,"sum":%q,"at":%d,"cgen":"GEN"%s}`, of, sum, at, more))
			}
		}
	}
	d := newDesk(t)
	pathA, name := d.log(a, 2), origin+"/omp/-garden/"+file(a)
	ours := text(d.CWD, a, 2) + entry("aaaa0009", "aaaa0001", "ours")
	for _, mark := range marks {
		for _, theirs := range []string{"", text(d.CWD, a, 2) + entry("eeee0001", "aaaa0001", "theirs")} {
			for _, pulls := range []bool{true, false} {
				d.Must(os.RemoveAll(d.State))
				d.Must(os.RemoveAll(d.At(garden)))
				d.Put(garden+file(a), ours)
				for l := range d.archive.List(d.Context(), "") {
					d.Must(d.archive.Remove(d.Context(), l))
				}
				at, err := d.archive.Overwrite(d.Context(), backend.Log{Name: name}, "", strings.NewReader(theirs))
				d.Must(err)
				at, err = d.archive.Extend(d.Context(), at, strings.ReplaceAll(mark, "GEN", at.Generation), strings.NewReader(""))
				d.Must(err)
				target := push.Target{Backend: d.archive, Shown: "mem://team"}
				if pulls {
					_, err = d.copier().Pull(d.Context(), target, push.PullOptions{})
				} else {
					_, err = d.copier().Push(d.Context(), target, push.PushOptions{})
				}
				now, _ := os.ReadFile(pathA)
				if err != nil || !strings.HasPrefix(string(now), ours) {
					t.Fatalf("%s, %q, pulls %v: %v, %q", mark, theirs, pulls, err, now)
				}
			}
		}
	}
}
