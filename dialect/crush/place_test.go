package crush_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/crush"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
)

func env(vars map[string]string, databases ...string) dialect.Env {
	return dialect.Env{Home: "/home/u", Getenv: func(name string) string { return vars[name] }, Access: func(path string) (exists, read, write bool) {
		for _, d := range databases {
			if path == filepath.FromSlash(d) {
				return true, true, true
			}
		}
		return false, false, false
	}}
}

// The registry is where the program's variables place it; a folder below a project belongs to the project.
func TestLayout(t *testing.T) {
	l := crush.Crush.Layout()
	for _, c := range []struct {
		vars map[string]string
		want string
	}{
		{nil, "/home/u/.local/share/crush"},
		{map[string]string{"XDG_DATA_HOME": "/data"}, "/data/crush"},
		{map[string]string{"XDG_DATA_HOME": "/data", "CRUSH_GLOBAL_DATA": "/global"}, "/global/crush"},
	} {
		if got := l.Roots(env(c.vars)); filepath.ToSlash(got[0].Sessions) != c.want || got[0].Driver != "crush" {
			t.Errorf(`%v: %+v; want filepath.ToSlash(got[0].Sessions) == %v, got[0].Driver == "crush"`, c.vars, got, c.want)
		}
	}
	e := env(nil, "/work/pond/.crush/crush.db")
	for cwd, want := range map[string]string{"/work/pond": "%2Fwork%2Fpond", "/work/pond/deep/er": "%2Fwork%2Fpond", "/work/100%": "%2Fwork%2F100%25"} {
		if got := l.Dir(e, filepath.FromSlash(cwd)); got != want {
			t.Errorf("%s: %s; want got == %v", cwd, got, want)
		}
	}
}

// The program is started in the project, and does not continue sub-agents.
func TestLaunch(t *testing.T) {
	root := crush.Crush.Layout().Roots(env(nil))[0]
	got, err := crush.Crush.Launch(dialect.Launched{ID: "x", Root: root, Env: env(nil)})
	if diff := difftest.Diff(dialect.Launch{Args: []string{"crush", "--session", "x"}, Bound: true}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	alone := dialect.Root{Sessions: filepath.FromSlash("/elsewhere/crush.db"), Driver: "crush"}
	got, err = crush.Crush.Launch(dialect.Launched{ID: "x", Root: alone, Env: env(nil)})
	if err != nil || strings.Join(got.Args, " ") != "crush --data-dir "+filepath.FromSlash("/elsewhere")+" --session x" {
		t.Error(got, err)
	}
	if _, err := crush.Crush.Launch(dialect.Launched{ID: "m$$c", Root: root, Env: env(nil)}); !errors.Is(err, dialect.ErrUnsupported) {
		t.Error(err)
	}
}

// The row of the session has its usage, whichever answer is asked about.
func TestSpent(t *testing.T) {
	const log = `{"sessions":{"id":"s","title":"t","prompt_tokens":126,"completion_tokens":7,"cost":0.5,"created_at":1772352000},"project":"/w"}
{"messages":{"id":"m1","session_id":"s","role":"user","created_at":1772352000,"updated_at":1772352000}}
{"messages":{"id":"m2","session_id":"s","role":"assistant","model":"heron-2","created_at":1772352001,"updated_at":1772352001,"provider":"fake"}}
`
	tree, err := dialecttest.Decode(crush.Crush, "s", []byte(log))
	if err != nil {
		t.Fatal(err)
	}
	var got []session.Spending
	for e := range tree.Entries() {
		raw, err := e.Raw()
		if err != nil {
			t.Fatal(err)
		}
		crush.Crush.Codec().EntryCodec.(session.Spender).Spent(e, raw, func(s session.Spending) { got = append(got, s) })
	}
	if len(got) != 1 || !got[0].Total || got[0].Model != "heron-2" || got[0].Usage.Input != 126 || got[0].Usage.Output != 7 || got[0].Usage.Cost != 0.5 {
		t.Errorf(`%+v; want len(got) == 1, got[0].Total, got[0].Model == "heron-2", got[0].Usage.Input == 126, got[0].Usage.Output == 7, got[0].Usage.Cost == 0.5`, got)
	}
}
