package file

import (
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// List implements backend.Backend with one stat per file. See the package comment for what its Logs are good for. The Log
// yielded with an error names the folder or file.
func (b *Backend) List(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return b.list(ctx, prefix, false)
}

// Names implements backend.Glimpser without a stat.
func (b *Backend) Names(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return b.list(ctx, prefix, true)
}

func (b *Backend) list(ctx context.Context, prefix string, bare bool) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		if b.closed.Load() {
			yield(backend.Log{}, backend.ErrClosed)
			return
		}
		// Start in the folder that the prefix names.
		start, dir := "", b.root
		if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
			start = prefix[:i]
			path, err := b.Path(start)
			if err != nil {
				return // no log can have such a name
			}
			dir = path
		}
		l := lister{Backend: b, ctx: ctx, prefix: prefix, yield: yield, start: dir, bare: bare, watches: b.watching()}
		l.folder(start, dir)
	}
}

// lister is one walk.
type lister struct {
	*Backend
	ctx     context.Context
	prefix  string
	yield   func(backend.Log, error) bool
	start   string   // where the walk begins
	bare    bool     // only names
	entered []string // real paths of the root, of start, and of folders entered through symbolic links
	watches []*watch // that cover the folders of this walk

	// Reused for each folder. items is a stack, shared with the folders above.
	listed []durable.Listed
	items  []item
	text   []byte
}

// item is an entry of a folder. The key of a folder ends in a slash, as in the names of its logs, so that "a.b" sorts
// before "a/b".
type item struct {
	key  string
	info durable.Info // zero if unknown
}

// folder lists one folder and those in it. It returns false if the caller stops.
func (l *lister) folder(name, dir string) bool {
	if l.ctx.Err() != nil {
		l.yield(backend.Log{}, context.Cause(l.ctx))
		return false
	}
	for _, w := range l.watches { // before the folder is read, so that no change is missed
		w.add(dir)
	}
	err := l.read(dir)
	if gone(err) {
		return true
	}
	// Entries read before the error are listed.
	begin := len(l.items)
	l.pick(name, dir)
	end := len(l.items)
	defer func() { l.items = l.items[:begin] }()
	if err != nil && !l.yield(backend.Log{Name: name}, failed(name, err)) {
		return false
	}
	// A name that is not UTF-8 makes all names below it invalid.
	valid := name == "" || fs.ValidPath(name)
	if name != "" {
		name += "/"
	}
	dir += string(filepath.Separator)
	for i := begin; i < end; {
		if base, isDir := strings.CutSuffix(l.items[i].key, "/"); isDir {
			if !l.folder(name+base, dir+base) {
				return false
			}
			i++
			continue
		}
		n := i
		for n < min(end, i+together) && !strings.HasSuffix(l.items[n].key, "/") {
			n++
		}
		if !l.files(name, dir, valid, i, n) {
			return false
		}
		i = n
	}
	return true
}

// together is how many files share one allocation for their names and generations. Keeping one of these strings keeps them all.
const together = 64

// files yields the items from:to, which are files.
func (l *lister) files(name, dir string, valid bool, from, to int) bool {
	l.text = l.text[:0]
	for _, it := range l.items[from:to] {
		l.text = append(append(l.text, name...), it.key...)
		l.text = appendGeneration(l.text, it.info)
	}
	rest := string(l.text)
	for i := from; i < to; i++ {
		it := l.items[i]
		full := rest[:len(name)+len(it.key)]
		generation := rest[len(full):][:shortWidth]
		rest = rest[len(full)+shortWidth:]
		if !l.file(full, generation, dir, valid, it) {
			return false
		}
	}
	return true
}

// read fills listed with the entries of a folder.
func (l *lister) read(dir string) (err error) {
	if f, ok := l.fs.(durable.Lister); ok && !l.bare {
		l.listed, err = f.ListDir(l.listed[:0], dir)
		return err
	}
	l.listed = l.listed[:0]
	entries, err := l.fs.ReadDir(dir)
	for _, e := range entries {
		l.listed = append(l.listed, durable.Listed{Name: e.Name(), Mode: e.Type()})
	}
	return err
}

// pick adds the listed entries that match the prefix to items, in order.
func (l *lister) pick(name, dir string) {
	begin := len(l.items)
	if name != "" {
		name += "/"
	}
	var links []string // to folders
	for i := range l.listed {
		e := &l.listed[i]
		// The type comes with the name. Only a link needs a stat.
		base, mode, info := e.Name, e.Mode, e.Info
		full := base
		if l.prefix != "" || mode&fs.ModeSymlink != 0 {
			full = name + base
		}
		if strings.HasPrefix(base, ownPrefix) || !overlap(full, l.prefix) {
			continue
		}
		if mode&fs.ModeSymlink != 0 {
			var err error
			if info, err = l.fs.Stat(dir + string(filepath.Separator) + base); err != nil {
				continue // a dangling link is not a log
			}
			if mode = info.Mode.Type(); mode.IsDir() {
				links = append(links, base)
				continue
			}
		}
		switch {
		case mode.IsDir():
			l.items = append(l.items, item{key: base + "/"})
		case mode.IsRegular() && strings.HasPrefix(full, l.prefix):
			l.items = append(l.items, item{base, info})
		}
	}
	slices.Sort(links) // if several links lead to one folder, the first is listed, whatever the order of the folder
	for _, base := range links {
		if l.enter(name+base, dir+string(filepath.Separator)+base) {
			l.items = append(l.items, item{key: base + "/"})
		}
	}
	l.hideCompressed(begin)
	slices.SortFunc(l.items[begin:], func(a, b item) int { return strings.Compare(a.key, b.key) })
}

// overlap reports whether one begins with the other: the folder is above the prefix, or the prefix above the folder.
func overlap(a, b string) bool {
	n := min(len(a), len(b))
	return a[:n] == b[:n]
}

// file yields one log; dir ends in a separator, and generation is of it.info.
func (l *lister) file(name, generation, dir string, valid bool, it item) bool {
	if l.ctx.Err() != nil {
		l.yield(backend.Log{}, context.Cause(l.ctx))
		return false
	}
	if !valid || !utf8.ValidString(it.key) {
		// The file exists, so it is reported.
		return l.yield(backend.Log{Name: name}, &fs.PathError{Op: "list", Path: dir + it.key, Err: backend.CheckName(name)})
	}
	if l.bare {
		return l.yield(backend.Log{Name: name}, nil)
	}
	if l.Compressed(name) {
		return l.compressed(name, dir, it)
	}
	if it.info == (durable.Info{}) {
		info, err := l.fs.Stat(dir + it.key)
		switch {
		case gone(err):
			return true
		case err != nil:
			return l.yield(backend.Log{Name: name}, failed(name, err))
		}
		return l.yield(logOf(name, info), nil)
	}
	return l.yield(backend.Log{Name: name, Generation: generation, Size: it.info.Size, Time: time.Unix(0, it.info.Nanos), Changed: it.info.Changed}, nil)
}

// enter reports whether to list the target of a symbolic link to a folder. It refuses a folder that is, contains or lies in
// one that is listed under another name: a loop would never end, and logs would appear twice. A link that the prefix names
// is always followed.
func (l *lister) enter(name, path string) bool {
	if strings.HasPrefix(l.prefix, name+"/") {
		return true
	}
	r, ok := l.fs.(durable.Resolver)
	if !ok {
		return false
	}
	if l.entered == nil {
		for _, begin := range []string{l.root, l.start} {
			real, err := r.EvalSymlinks(begin)
			if err != nil {
				return false
			}
			l.entered = append(l.entered, real)
		}
	}
	target, err := r.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for _, known := range l.entered {
		if inside(target, known) || inside(known, target) {
			return false
		}
	}
	l.entered = append(l.entered, target)
	return true
}

// inside reports whether path is the folder or below it.
func inside(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || rest[0] == filepath.Separator || folder[len(folder)-1] == filepath.Separator)
}

// Folders returns the sorted names of the folders in a folder, without symbolic links.
func Folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
