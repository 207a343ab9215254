package wave_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/wave"
)

// machine has no links and only these folders.
func machine(folders ...string) dialect.Env {
	return dialect.Env{
		Home: "/home/user", WorkDir: "/work", Getenv: func(string) string { return "" },
		Realpath: func(p string) (string, error) { return p, nil },
		Folders: func(dir string) ([]string, error) {
			var names []string
			seen := map[string]bool{}
			for _, f := range folders {
				rest, ok := strings.CutPrefix(f, strings.TrimSuffix(dir, "/")+"/")
				if name, _, _ := strings.Cut(rest, "/"); ok && name != "" && !seen[name] {
					seen[name] = true
					names = append(names, name)
				}
			}
			return names, nil
		},
	}
}

func TestProgramNames(t *testing.T) {
	a, b := strings.Repeat("a", 190), strings.Repeat("b", 20)
	for path, want := range map[string]string{
		"/":                            "",
		"/home/user/project-a":         "home-user-project-a",
		"~/project-a":                  "home-user-project-a",
		"sub":                          "work-sub",
		"/a b\u00a0\u2028c":            "a_b_c",
		"/Ärger/日本":                    "Ärger-日本",
		`C:\Users\x`:                   "work-C:-Users-x",
		"/" + strings.Repeat("x", 200): strings.Repeat("x", 200),
		// The program really does this: it cuts a surrogate pair in half.
		"/" + a + "🎉" + b: a + "\ufffd-1bc318c9",
	} {
		if got := wave.Wave.Layout().Dir(machine(), path); got != want {
			t.Errorf("%s: %q, not %q", path, got, want)
		}
	}
}

func TestDocumentNames(t *testing.T) {
	for path, want := range map[string]string{
		"/":                    "-",
		"/home/user/project-a": "-home-user-project-a",
		"/a b/c.d_e":           "-a_b-c_d_e",
		"/日本":                  "-__",
	} {
		if got := wave.Doc.Layout().Dir(machine(), path); got != want {
			t.Errorf("%s: %q, not %q", path, got, want)
		}
	}
	long := wave.Doc.Project(machine(), "/"+strings.Repeat("x", 300), nil)
	if len(long.EncodedName) != 200 || long.PathHash == "" || long.Validate() != nil {
		t.Errorf(`%+v, %v; want len(long.EncodedName) == 200, long.PathHash != "", long.Validate() == nil`, long, long.Validate())
	}
}

// TestNamesFit: whatever the path, a file system accepts the name, and different long paths have different names.
func TestNamesFit(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
		seen := map[string]bool{}
		for _, path := range []string{
			"/" + strings.Repeat("木", 150), "/" + strings.Repeat("木", 149) + "林", "/" + strings.Repeat("🎉", 120), "/" + strings.Repeat("é/", 180) + "x",
			"/" + strings.Repeat("x", 1000), "/" + strings.Repeat("x", 999) + "y",
		} {
			name := d.Layout().Dir(machine(), path)
			if d == wave.Doc { // in the document's form two names may be equal, and the second gets a hash
				name = d.Project(machine(), path, func(dir string) []string {
					if seen[dir] {
						return []string{"/another"}
					}
					return nil
				}).EncodedName
			}
			if seen[name] {
				t.Errorf("%s: %s has the name of another", d.Name(), path)
			}
			seen[name] = true
			if err := os.MkdirAll(filepath.Join(dir, d.Name(), name), 0o700); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCollision: a name that another directory has gets the hash, and a directory finds its own folder again.
func TestCollision(t *testing.T) {
	owners := func(dir string) []string {
		if dir == "-a-b" {
			return []string{"/a/b"}
		}
		return nil
	}
	first, second := wave.Doc.Project(machine(), "/a/b", owners), wave.Doc.Project(machine(), "/a-b", owners)
	if first.EncodedName != "-a-b" || first.PathHash != "" {
		t.Errorf(`%+v; want first.EncodedName == "-a-b", first.PathHash == ""`, first)
	}
	if second.PathHash == "" || second.EncodedName != "-a-b-"+second.PathHash {
		t.Errorf(`%+v; want second.PathHash != "", second.EncodedName == %v`, second, "-a-b-"+second.PathHash)
	}
	if program := wave.Wave.Project(machine(), "/a-b", owners); program.EncodedName != "a-b" {
		t.Errorf("the program knows no collisions: %+v", program)
	}
}

// TestWorkDir: a name is mapped back only if exactly one directory matches.
func TestWorkDir(t *testing.T) {
	second := wave.Doc.Project(machine(), "/x/a-b", func(string) []string { return []string{"/x/a/b"} }).EncodedName
	long := "/x/" + strings.Repeat("y", 150) + "/" + strings.Repeat("z", 150)
	for _, test := range []struct {
		d       *wave.Dialect
		name    string
		folders []string
		want    string
	}{
		{wave.Wave, "home-user-project-a", []string{"/home/user/project-a"}, "/home/user/project-a"},
		{wave.Wave, "home-user-project-a", []string{"/home/user/project/a"}, "/home/user/project/a"},
		{wave.Wave, "home-user-project-a", []string{"/home/user/project/a", "/home/user/project-a"}, ""},
		{wave.Wave, "home-user-project-a", []string{"/home/user"}, ""},
		{wave.Wave, "a_b", []string{"/a b"}, "/a b"},
		{wave.Wave, "a_b", []string{"/a b", "/a\tb"}, ""},
		{wave.Doc, "-home-user-project-a", []string{"/home/user/project-a"}, "/home/user/project-a"},
		{wave.Doc, "-x-a-b", []string{"/x/a b", "/x/a/b"}, "/x/a/b"},
		{wave.Doc, second, []string{"/x/a-b", "/x/a/b"}, "/x/a-b"},
		{wave.Doc, wave.Doc.Layout().Dir(machine(), long), []string{long, long + "a"}, long},
		{wave.Doc, "-", nil, "/"},
		{wave.Doc, "-gone", []string{"/home"}, ""},
	} {
		p := test.d.Layout().(dialect.Placer)
		if got, _ := p.WorkDir(machine(test.folders...), test.name); got != test.want {
			t.Errorf("%s: %q with %q is %q, not %q", test.d.Name(), test.name, test.folders, got, test.want)
		}
	}
}

// TestLinks: links are resolved, and IsSymbolicLink reports whether the path was one.
func TestLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	env := machine()
	env.Realpath = filepath.EvalSymlinks
	link, real := wave.Doc.Project(env, filepath.Join(dir, "link"), nil), wave.Doc.Project(env, filepath.Join(dir, "real"), nil)
	if !link.IsSymbolicLink || real.IsSymbolicLink || link.EncodedName != real.EncodedName || link.OriginalPath != filepath.Join(dir, "real") {
		t.Errorf("%+v\n%+v; want link.IsSymbolicLink, not real.IsSymbolicLink, link.EncodedName == %v, link.OriginalPath == filepath.Join(dir, \"real\")", link, real, real.EncodedName)
	}
	if err := errors.Join(link.Validate(), real.Validate()); err != nil {
		t.Error(err)
	}
}

func TestOwns(t *testing.T) {
	const v4, v6 = "643c4bf3-840b-489d-a501-9e9ff8cc3499.jsonl", "1efaa2d6-8a23-6b9a-8e0d-9e9ff8cc3499.jsonl"
	for name, want := range map[string]string{
		"home-user/" + v4: "wave", "home-user/" + v6: "wave", v4: "wave", "home-user/subagent-" + v4: "wave",
		"-home-user/" + v6: "wave-doc", "-x/" + v4: "wave", "-x/notes.jsonl": "wave-doc", "abc.json": "wave-legacy", "home/notes.md": "", "home/memory/x.json": "",
	} {
		got := ""
		for _, d := range []dialect.Dialect{wave.Wave, wave.Doc, wave.Legacy} {
			if d.Layout().Owns(name) {
				got += d.Name()
			}
		}
		if got != want {
			t.Errorf("%s is owned by %q, not %q", name, got, want)
		}
	}
}
