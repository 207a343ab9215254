package pi_test

import (
	"errors"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/pi"
)

// machine is an imaginary machine.
func machine(vars, links map[string]string) dialect.Env {
	return dialect.Env{
		Home: "/home/me", TempDir: "/tmp", WorkDir: "/work/here", Zone: time.UTC,
		Getenv: func(name string) string { return vars[name] },
		Realpath: func(p string) (string, error) {
			if to, ok := links[p]; ok {
				if to == "" {
					return "", errors.New("no such file")
				}
				return to, nil
			}
			return p, nil
		},
	}
}

func TestDir(t *testing.T) {
	links := map[string]string{"/opt/enc/link": "/home/me/proj", "/nonexist/a/b": ""}
	for _, tc := range []struct{ cwd, pi, omp, doc string }{
		{"/", "----", "----", "----"},
		{"/home/me", "--home-me--", "-", "--home-me--"},
		{"/home/me/", "--home-me--", "-", "--home-me--"},
		{"/home/me/proj/sub", "--home-me-proj-sub--", "-proj-sub", "--home-me-proj-sub--"},
		{"/home/me/-dash", "--home-me--dash--", "--dash", "--home-me--dash--"},
		{"/home/me/..dots", "--home-me-..dots--", "-..dots", "--home-me-..dots--"},
		{"/home/meadow", "--home-meadow--", "--home-meadow--", "--home-meadow--"},
		{"/tmp", "--tmp--", "-tmp", "--tmp--"},
		{"/tmp/enc-x/y", "--tmp-enc-x-y--", "-tmp-enc-x-y", "--tmp-enc-x-y--"},
		{"/opt/enc/a-b", "--opt-enc-a-b--", "--opt-enc-a-b--", "--opt-enc-a-b--"},
		{"/opt/enc/a/b", "--opt-enc-a-b--", "--opt-enc-a-b--", "--opt-enc-a-b--"},
		{"/opt/enc/link", "--opt-enc-link--", "-proj", "--opt-enc-link--"},
		{"/opt/with:colon", "--opt-with-colon--", "--opt-with-colon--", "--opt-with-colon--"},
		{`/opt/back\slash`, "--opt-back-slash--", "--opt-back-slash--", "--opt-back-slash--"},
		{"/home/me/a b", "--home-me-a b--", "-a b", "--home-me-a b--"},
		{"~/zz", "--home-me-zz--", "--work-here-~-zz--", "--work-here-~-zz--"},
		{"~", "--home-me--", "--work-here-~--", "--work-here-~--"},
		{"sub", "--work-here-sub--", "--work-here-sub--", "--work-here-sub--"},
		{"/nonexist/a//b/", "--nonexist-a-b--", "--nonexist-a-b--", "--nonexist-a-b--"},
		{"/home/me/../you", "--home-you--", "--home-you--", "--home-you--"},
	} {
		for _, v := range []struct {
			d    *pi.Dialect
			want string
		}{{pi.Pi, tc.pi}, {pi.Omp, tc.omp}, {pi.OmpDoc, tc.doc}} {
			if got := v.d.Layout().Dir(machine(nil, links), tc.cwd); got != v.want {
				t.Errorf("%s of %s is %q, not %q", tc.cwd, v.d.Name(), got, v.want)
			}
		}
	}
}

// TestDirOfLinkedPlaces: home and the temporary folder may be links themselves, as on a Mac.
func TestDirOfLinkedPlaces(t *testing.T) {
	env := machine(nil, map[string]string{
		"/tmp": "/private/tmp", "/tmp/x": "/private/tmp/x", "/home/me": "/disk/me", "/home/me/p": "/disk/me/p",
	})
	for cwd, want := range map[string]string{"/tmp/x": "-tmp-x", "/home/me/p": "-p", "/disk/me/p": "-p", "/private/tmp": "-tmp"} {
		if got := pi.Omp.Layout().Dir(env, cwd); got != want {
			t.Errorf("%s is %q, not %q", cwd, got, want)
		}
	}
	env = machine(nil, nil)
	env.Home = "/tmp/home"
	if got := pi.Omp.Layout().Dir(env, "/tmp/home/x"); got != "-x" {
		t.Errorf("a home in the temporary folder: %q", got)
	}
}

func TestRoots(t *testing.T) {
	for _, tc := range []struct {
		d    *pi.Dialect
		vars map[string]string
		want dialect.Root
	}{
		{pi.Pi, nil, dialect.Root{Sessions: "/home/me/.pi/agent/sessions"}},
		{pi.Omp, nil, dialect.Root{Sessions: "/home/me/.omp/agent/sessions", Blobs: "/home/me/.omp/agent/blobs", Breadcrumbs: "/home/me/.omp/agent/terminal-sessions"}},
		{pi.OmpDoc, nil, dialect.Root{Sessions: "/home/me/.omp/agent/sessions", Blobs: "/home/me/.omp/agent/blobs", Breadcrumbs: "/home/me/.omp/agent/terminal-sessions"}},
		{pi.Pi, map[string]string{"PI_CODING_AGENT_DIR": "/x", "OMP_CODING_AGENT_DIR": "/y"}, dialect.Root{Sessions: "/x/sessions"}},
		{pi.Omp, map[string]string{"PI_CODING_AGENT_DIR": "/x", "OMP_CODING_AGENT_DIR": "/y"}, dialect.Root{Sessions: "/y/sessions", Blobs: "/y/blobs", Breadcrumbs: "/y/terminal-sessions"}},
		{pi.Pi, map[string]string{"PI_CODING_AGENT_DIR": "~/pi"}, dialect.Root{Sessions: "/home/me/pi/sessions"}},
		{pi.Pi, map[string]string{"PI_CODING_AGENT_DIR": "~"}, dialect.Root{Sessions: "/home/me/sessions"}},
		{pi.Pi, map[string]string{"PI_CODING_AGENT_DIR": ""}, dialect.Root{Sessions: "/home/me/.pi/agent/sessions"}},
		{pi.Pi, map[string]string{"PI_CODING_AGENT_DIR": "rel/dir"}, dialect.Root{Sessions: "/work/here/rel/dir/sessions"}},
	} {
		got := tc.d.Layout().Roots(machine(tc.vars, nil))
		if len(got) == 0 || got[0] != tc.want {
			t.Errorf("%s with %v: %+v", tc.d.Name(), tc.vars, got)
		}
	}
}

func TestFile(t *testing.T) {
	at := time.Date(2026, 11, 15, 2, 18, 30, 684_999_999, time.FixedZone("", 3600))
	for _, d := range []*pi.Dialect{pi.Pi, pi.Omp, pi.OmpDoc} {
		l := d.Layout()
		if got, want := l.File(at, "01a1dcc8-1"), "2026-11-15T01-18-30-684Z_01a1dcc8-1.jsonl"; got != want {
			t.Errorf("%s: %q, not %q", d.Name(), got, want)
		}
		for name, want := range map[string]bool{
			"--work--/2026_x.jsonl": true, "--work--/2026_x/0-Task.jsonl": true,
			"--work--/2026_x.jsonl.bak": false, "--work--/2026_x/1.bash.log": false, "history.db": false,
		} {
			if l.Owns(name) != want {
				t.Errorf("%s: Owns(%q) is %v", d.Name(), name, !want)
			}
		}
	}
}
