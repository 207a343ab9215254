package treeline_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// member is a machine with its own home, and an archive that it shares with others.
type member struct {
	t      *testing.T
	driver backend.Driver
	home   string
}

const given = "team://ann:secret@host?sslmode=off"

func (m member) open(readOnly bool, roots ...string) *treeline.Store {
	m.t.Helper()
	s, err := treeline.New(treeline.Options{
		Backends: []backend.Driver{m.driver}, Roots: roots, ReadOnly: readOnly,
		Home: m.home, WorkDir: m.home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = s.Close() })
	return s
}

// begin makes a session of a dialect with one message.
func (m member) begin(s *treeline.Store, name, text string) string {
	m.t.Helper()
	d, err := s.Dialect(name)
	if err != nil {
		m.t.Fatal(err)
	}
	sess, err := s.Create(m.t.Context(), treeline.CreateOptions{Dialect: d, CWD: m.home})
	if err != nil {
		m.t.Fatal(err)
	}
	m.say(sess, text)
	return sess.Path()
}

func (m member) say(sess *treeline.Session, text string) {
	m.t.Helper()
	if _, err := sess.AppendText(m.t.Context(), session.RoleUser, text); err != nil {
		m.t.Fatal(err)
	}
	if err := errors.Join(sess.Flush(m.t.Context()), sess.Close()); err != nil {
		m.t.Fatal(err)
	}
}

// shown returns the paths of a list, and fails if one shows credentials.
func (m member) shown(s *treeline.Store) (list []string) {
	m.t.Helper()
	rows, err := s.List(m.t.Context(), treeline.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, r := range rows {
		if text := fmt.Sprintf("%+v %+v", r.Path, r.Source); strings.Contains(text, "secret") || strings.Contains(text, "sslmode") {
			m.t.Errorf("it shows %s", text)
		}
		list = append(list, r.Path)
	}
	slices.Sort(list)
	return list
}

// Machines share an archive: each writes below its own origin, and all of them can read and append everywhere.
func TestArchive(t *testing.T) {
	driver := memory.ArchiveDriver("team")
	ann, bob := member{t, driver, t.TempDir()}, member{t, driver, t.TempDir()}
	s := ann.open(false, given)
	paths := []string{ann.begin(s, "omp", "hello"), ann.begin(s, "pi", "hi"), ann.begin(s, "claude", "hey"), ann.begin(s, "codex", "ho")}
	origin, err := treeline.Origin(treeline.DataDir(ann.home, func(string) string { return "" }))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"omp", "pi", "claude", "codex"} {
		if !place.Within("team://host/"+origin+"/"+name, paths[i]) {
			t.Errorf("a session of %s is at %s", name, paths[i])
		}
	}
	reader := bob.open(true, given)
	if reader.Origin() != "" {
		t.Error("a reader made an identity")
	}
	if diff := difftest.Diff(slices.Sorted(slices.Values(paths)), bob.shown(reader)); diff != "" {
		t.Error(diff)
	}
	writer := bob.open(false, given)
	for i, path := range paths {
		sess, err := writer.OpenWrite(t.Context(), path, treeline.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"omp", "pi", "claude", "codex"}[i]; sess.Dialect().Name() != want {
			t.Errorf("%s is of %s", path, sess.Dialect().Name())
		}
		bob.say(sess, "from bob")
	}
	more := bob.begin(writer, "omp", "mine")
	if place.Within("team://host/"+origin, more) {
		t.Errorf("it writes to the other's origin: %s", more)
	}
	for root, want := range map[string]int{
		given: 5, "team://host/" + origin: 0, "team://ann:secret@host/" + origin + "?sslmode=off": 4,
		"team://ann:secret@host/" + origin + "/pi?sslmode=off": 1, "team://ann:secret@host/nobody-00000000?sslmode=off": 0,
	} {
		if got := bob.shown(bob.open(true, root)); len(got) != want {
			t.Errorf("%s: %d sessions: %q", root, len(got), got)
		}
	}
	for _, ref := range []string{paths[0], "team://ann:secret@host/" + strings.TrimPrefix(paths[0], "team://host/")} {
		sess, err := reader.Open(t.Context(), reader.Shown(ref), treeline.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n := sess.Tree().Len(); n < 2 || sess.Path() != paths[0] {
			t.Errorf("%s has %d entries", sess.Path(), n)
		}
		_ = sess.Close()
	}
	found, err := reader.Search(t.Context(), "bob", treeline.SearchOptions{})
	if err != nil || len(found.Hits) != 4 {
		t.Errorf("found %d, %v", len(found.Hits), err)
	}
	infos, err := reader.LookAtSources(t.Context())
	if err != nil || len(infos) != 5 {
		t.Errorf("%d sources, %v", len(infos), err)
	}
}

// An error about a URL does not show the URL.
func TestArchiveRefused(t *testing.T) {
	m := member{t, memory.ArchiveDriver("team"), t.TempDir()}
	for _, roots := range [][]string{{"team://ann:sec%zzret@host"}, {"other://ann:secret@host/x"}, {given, "team://bob:secret@host"}} {
		_, err := treeline.New(treeline.Options{Backends: []backend.Driver{m.driver}, Roots: roots, Home: m.home})
		if err == nil || strings.Contains(err.Error(), "ret@") || strings.Contains(err.Error(), "secret") {
			t.Errorf(`%q: %v; want an error, not strings.Contains(err.Error(), "ret@"), not strings.Contains(err.Error(), "secret")`, roots, err)
		}
	}
	s := m.open(true, given)
	for path, want := range map[string]error{
		"team://host/a-00000000/omp/x.jsonl":           backend.ErrNotExist,
		"team://host/a-00000000/x.jsonl":               backend.ErrName,
		"team://ann:secret@other/a-00000000/omp/x":     backend.ErrNoDriver,
		"team://host/a-00000000/omp/../../../x.jsonl":  backend.ErrNoDriver,
		"team://host/a-00000000/omp/../../b/omp/.././": backend.ErrName,
	} {
		_, err := s.Open(t.Context(), path, treeline.OpenOptions{})
		if !errors.Is(err, want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %v", path, err, want)
		}
	}
}

// An archive that cannot be reached is an error everywhere, never an empty list.
func TestArchiveUnreachable(t *testing.T) {
	down := errors.New("the server is down")
	driver := memory.ArchiveDriver("team")
	driver.Open = func(string, backend.OpenOptions) (backend.Backend, error) { return nil, down }
	m := member{t, driver, t.TempDir()}
	s := m.open(true, given)
	_, listErr := s.List(t.Context(), treeline.ListOptions{})
	_, findErr := s.Find(t.Context(), "0123")
	_, catalogueErr := s.Catalogue(t.Context(), treeline.RefreshOptions{})
	_, searchErr := s.Search(t.Context(), "x", treeline.SearchOptions{})
	_, sourcesErr := s.LookAtSources(t.Context())
	_, runsErr := s.Runs(t.Context(), treeline.RunListOptions{})
	for what, err := range map[string]error{
		"List": listErr, "Find": findErr, "Catalogue": catalogueErr, "Search": searchErr, "LookAtSources": sourcesErr, "Runs": runsErr,
	} {
		if !errors.Is(err, down) {
			t.Errorf("%s: %v; want the error down", what, err)
		}
	}
	for _, err := range s.Watch(t.Context(), treeline.WatchOptions{}) {
		if !errors.Is(err, down) {
			t.Errorf("Watch: %v", err)
		}
		break
	}
}

// The default place of an agent has a name that does not depend on the machine.
func TestSourceName(t *testing.T) {
	m := member{t, memory.ArchiveDriver("team"), t.TempDir()}
	s := m.open(true)
	for _, src := range s.Sources() {
		want := src.Dialect.Name()
		if src.Why == place.WhyOwn {
			want += "."
		}
		if got := place.SourceName(s.Env(), src); !strings.HasPrefix(got, want) || src.Why == place.WhyDefault && strings.Contains(got, ".") && src.Root.Sessions == src.Dialect.Layout().Roots(s.Env())[0].Sessions {
			t.Errorf(`%s: %s; want strings.HasPrefix(got, want), not (src.Why == place.WhyDefault && strings.Contains(got, ".") && src.Root.Sessions == src.Dialect.Layout().Roots(s.Env())[0].Sessions)`, src.Root.Sessions, got)
		}
	}
	d, _ := s.Dialect("omp")
	other := place.Source{Dialect: d, Root: d.Layout().RootAt(filepath.Join(m.home, "elsewhere"))}
	if got := place.SourceName(s.Env(), other); !strings.HasPrefix(got, "omp.") || len(got) != len("omp.")+8 {
		t.Errorf("another place is %s", got)
	}
}
