package place

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
)

// archive is a root of Options that keeps the logs of many machines; see backend.Driver.Archive. A source of it is a folder ORIGIN/SOURCE.
// Its logs have the names that they have in the place that they come from.
type archive struct {
	// shown is the prefix of paths. given is the URL that the driver opens, which may hold a password.
	shown, given string
	// below is the folder that is listed: "", ORIGIN or ORIGIN/SOURCE. Logs elsewhere in the archive can be opened.
	below string
}

// noOrigin is the origin of a machine without an identity. It is not a valid origin, so no log is there.
const noOrigin = "unknown"

// CheckRoots returns what is wrong with Options.Roots, and whether one of them is an archive.
func CheckRoots(drivers []backend.Driver, roots []string) (archived bool, err error) {
	given := map[string]string{}
	for _, root := range roots {
		if !isURL(root) {
			continue
		}
		a, ok, err := readArchive(drivers, root)
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		if other, twice := given[a.shown]; twice && other != a.given {
			return false, fmt.Errorf("%s is given twice, with different ways to connect", a.shown)
		}
		given[a.shown], archived = a.given, true
	}
	return archived, nil
}

// named adds the archive to an error, unless it begins with the host.
func (a archive) named(err error) error {
	_, host, _ := strings.Cut(a.shown, "://")
	if host, _, _ = strings.Cut(host, "/"); host != "" && strings.HasPrefix(err.Error(), host) {
		return err
	}
	return fmt.Errorf("%s: %w", a.shown, err)
}

// Origins lists the origins in an archive.
func Origins(ctx context.Context, drivers []backend.Driver, root string) ([]string, error) {
	a, ok, err := readArchive(drivers, root)
	if err != nil || !ok {
		return nil, err
	}
	d, _ := backend.FindDriver(drivers, a.given) // readArchive has found the driver
	b, err := d.Open(a.given, backend.OpenOptions{ReadOnly: true})
	if err != nil {
		return nil, a.named(err)
	}
	list, err := backend.Folders(ctx, b, "")
	if err = errors.Join(err, b.Close()); err != nil {
		return nil, a.named(err)
	}
	return list, nil
}

// takeRoots finds the archives among the roots, and replaces them by their URLs without passwords.
func (m *Machine) takeRoots() {
	m.opt.Roots = slices.Clone(m.opt.Roots)
	for i, root := range m.opt.Roots {
		if !isURL(root) {
			continue
		}
		a, ok, err := readArchive(m.opt.Drivers, root)
		switch {
		case err != nil:
			m.opt.Roots[i] = backend.Scheme(root) + "://" // CheckRoots returns what is wrong
		case ok:
			m.opt.Roots[i] = a.shown
			if m.opt.From != "" && a.below == "" {
				a.below = m.opt.From
			}
			m.archives = append(m.archives, a)
		}
	}
}

// readArchive parses the URL of an archive; ok is false if it is not one.
func readArchive(drivers []backend.Driver, url string) (a archive, ok bool, err error) {
	d, err := backend.FindDriver(drivers, url)
	if err != nil {
		return a, false, err
	}
	if !d.Archive {
		return a, false, nil
	}
	a.given = url
	if d.Split != nil {
		if a.given, a.below, err = d.Split(url); err != nil {
			return a, false, err
		}
	}
	a.shown = a.given
	if d.Shown != nil {
		a.shown, err = d.Shown(a.given)
	}
	a.shown = Clean(a.shown)
	return a, true, err
}

// Shown returns a path as people may see it. The path of a log in an archive loses its password and what only says how to connect; any
// other path stays as it is.
func (m *Machine) Shown(path string) string {
	if _, _, ok := m.inArchive(path); ok {
		return path
	}
	return Shown(m.opt.Drivers, path)
}

// Shown is Machine.Shown for a machine with these drivers.
func Shown(drivers []backend.Driver, path string) string {
	if !isURL(path) {
		return path
	}
	a, ok, err := readArchive(drivers, path)
	switch {
	case err != nil:
		return backend.Scheme(path) + "://"
	case !ok:
		return path
	}
	return Join(a.shown, a.below)
}

// inArchive returns the archive that a shown path lies in, and the rest of the path below it.
func (m *Machine) inArchive(path string) (a archive, below string, ok bool) {
	for _, a := range m.archives {
		if below, ok := Below(a.shown, path); ok {
			return a, below, true
		}
	}
	return archive{}, "", false
}

// sourceOf returns the source of an archive that a path lies in, and the name below it. ok is false for a path outside of sources.
func (m *Machine) sourceOf(path string) (src Source, name string, ok bool) {
	a, below, ok := m.inArchive(path)
	if !ok {
		return Source{}, "", false
	}
	origin, rest, _ := strings.Cut(below, "/")
	source, name, _ := strings.Cut(rest, "/")
	if source == "" {
		return Source{}, "", false
	}
	return m.archived(a, origin, source), name, true
}

// archived returns a source of an archive. Its name begins with that of its dialect.
func (m *Machine) archived(a archive, origin, source string) Source {
	name, _, _ := strings.Cut(source, ".")
	d, err := m.Dialect(name)
	if err != nil {
		d = m.opt.Dialects[0] // a newer program wrote the source; its logs may still be detected by their content
	}
	return Source{
		Dialect: d, Assumed: err != nil, Root: dialect.Root{Sessions: Join(a.shown, origin, source)}, Why: WhyAsked, Origin: origin,
	}
}

// sourcesOf lists the sources of an archive. If that fails, it returns one source with the error.
func (m *Machine) sourcesOf(a archive) []Source {
	ctx := context.Background() // the driver limits the time for a server that cannot be reached
	fail := func(err error) []Source {
		return []Source{{Dialect: m.opt.Dialects[0], Assumed: true, Root: dialect.Root{Sessions: a.shown}, Why: WhyAsked, Err: a.named(err)}}
	}
	origin, source, _ := strings.Cut(a.below, "/")
	if source != "" {
		return []Source{m.archived(a, origin, source)}
	}
	b, err := m.Open(a.shown)
	if err != nil {
		return fail(err)
	}
	if s, ok := b.(backend.Sourced); ok && origin == "" {
		folders, err := s.Sources(ctx)
		if err != nil {
			return fail(err)
		}
		slices.Sort(folders)
		var list []Source
		for _, f := range folders {
			origin, source, _ := strings.Cut(f, "/")
			list = append(list, m.archived(a, origin, source))
		}
		return list
	}
	origins := []string{origin}
	if origin == "" {
		if origins, err = backend.Folders(ctx, b, ""); err != nil {
			return fail(err)
		}
	}
	names, errs := make([][]string, len(origins)), make([]error, len(origins))
	each(ctx, len(origins), 1, func() func(int) {
		return func(i int) { names[i], errs[i] = backend.Folders(ctx, b, origins[i]) }
	})
	if err := errors.Join(errs...); err != nil {
		return fail(err)
	}
	var list []Source
	for i, origin := range origins {
		for _, source := range names[i] {
			list = append(list, m.archived(a, origin, source))
		}
	}
	return list
}

// Shelf is a backend with the logs of sources, for callers that follow all of them. An archive is one shelf, which also has the sources
// that it gets later. Any other source is a shelf of its own.
type Shelf struct {
	Backend backend.Backend
	// Dir is the folder or URL that names of logs are relative to.
	Dir string
	// Owns reports whether a log of that name is a session's.
	Owns func(name string) bool
	// Path returns the path of a log for people. InSource returns its name in its source.
	Path, InSource func(name string) string
}

// Shelves returns the backends of all sources. It fails if an archive cannot be reached.
func (m *Machine) Shelves(ctx context.Context) (list []Shelf, err error) {
	for _, a := range m.archives {
		dir := Join(a.shown, a.below)
		b, err := m.Open(dir)
		if err == nil {
			_, err = backend.Folders(ctx, b, "")
		}
		if err != nil {
			return nil, a.named(err)
		}
		list = append(list, Shelf{
			Backend: b, Dir: dir, Path: func(name string) string { return dir + "/" + name },
			Owns: func(name string) bool {
				src, rest, ok := m.sourceOf(dir + "/" + name)
				return ok && rest != "" && !IsRuns(src.Dialect) && src.Owns(rest)
			},
			InSource: func(name string) string {
				_, rest, _ := m.sourceOf(dir + "/" + name)
				return rest
			},
		})
	}
	for _, src := range m.plainSources() {
		if src.Needs != "" {
			continue // no driver opens it
		}
		b, err := m.Open(src.Root.Sessions)
		if err != nil {
			return nil, err
		}
		list = append(list, Shelf{
			Backend: b, Dir: Clean(src.Root.Sessions), Path: src.PathOf, Owns: src.Owns, InSource: func(name string) string { return name },
		})
	}
	return list, nil
}

// ownRoot returns where new sessions of a dialect go in an archive.
func (m *Machine) ownRoot(a archive, d dialect.Dialect) dialect.Root {
	origin := m.opt.Origin
	if origin == "" {
		origin = noOrigin
	}
	return dialect.Root{Sessions: Join(a.shown, origin, d.Name())}
}

// kept returns the blobs that an archive keeps for a log; nil if it keeps none.
func (m *Machine) kept(path string, open func(root string) (backend.Backend, error)) blob.Store {
	src, name, ok := m.sourceOf(path)
	if !ok || name == "" {
		return nil
	}
	b, err := open(src.Root.Sessions)
	if err != nil {
		return nil // the log cannot be opened either
	}
	k, ok := b.(blob.Keeper)
	if !ok {
		return nil
	}
	return k.Blobs(name)
}

// Origin returns the identity of this machine in archives; "" if it has none yet.
func (m *Machine) Origin() string { return m.opt.Origin }

// Archived reports whether one of the roots is an archive.
func (m *Machine) Archived() bool { return len(m.archives) > 0 }

// SourceName returns the name of a source of this machine in an archive: the name of its dialect for the agent's default place, otherwise
// that name and a hash of the place's path.
func SourceName(env dialect.Env, src Source) string {
	env.Getenv = func(string) string { return "" } // a place that a variable names is not the default one
	if roots := src.Dialect.Layout().Roots(env); len(roots) > 0 && Clean(roots[0].Sessions) == Clean(src.Root.Sessions) {
		return src.Dialect.Name()
	}
	sum := sha256.Sum256([]byte(Clean(src.Root.Sessions)))
	return src.Dialect.Name() + "." + hex.EncodeToString(sum[:4])
}

// ErrNoArchive is wrapped by the error for a place that does not keep the logs of many machines.
var ErrNoArchive = errors.New("it is no archive")

// OpenArchive opens an archive by its URL for writing, whether or not it is among the roots, and returns its URL as people may see it.
// Names of logs begin with their origin.
func (m *Machine) OpenArchive(url string) (b backend.Backend, shown string, err error) {
	a, ok, err := readArchive(m.opt.Drivers, url)
	switch {
	case err != nil:
		return nil, "", err
	case !ok && strings.ContainsAny(url, "@?"): // the URL may contain a password
		return nil, "", fmt.Errorf("the address: %w", ErrNoArchive)
	case !ok:
		return nil, "", fmt.Errorf("%s: %w", url, ErrNoArchive)
	case a.below != "":
		return nil, "", fmt.Errorf("%s: %w, but a folder in one", Join(a.shown, a.below), ErrNoArchive)
	case m.opt.ReadOnly:
		return nil, "", fmt.Errorf("%s: %w", a.shown, backend.ErrReadOnly)
	}
	b, err = m.backends.get(a.shown, a.given, backend.OpenOptions{Durability: backend.DurabilityFlush})
	return b, a.shown, err
}
