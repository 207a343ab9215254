package push

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
)

// source is a source of this machine, with its name in archives.
type source struct {
	place.Source
	name string
	b    backend.Backend
	// absent has the prefixes of names of logs that may be on a disk that is not mounted.
	absent []string
}

// item is a log on this machine.
type item struct {
	src *source
	// log is the log as it was listed.
	log backend.Log
	// name is its name in the archive.
	name string
	// of is the session whose folder has this file; nil for a log of its own.
	of *item
}

// path returns the path of the log.
func (it *item) path() string { return it.src.PathOf(it.log.Name) }

// plainName returns the name of a log without the extension of a compressed one: in an archive, both are the same log.
func plainName(b backend.Backend, name string) string {
	if backend.Compressed(b, name) {
		return strings.TrimSuffix(name, path.Ext(name))
	}
	return name
}

// local is the list of the logs on this machine.
type local struct {
	sources []*source
	items   []*item
	partly  map[string]bool // names of sources that could not be listed completely
	err     error
}

// local lists the sources that a filter chooses.
func (c *Copier) local(ctx context.Context, f *Filter, meter *meter) *local {
	l := &local{partly: map[string]bool{}}
	if l.sources, l.err = c.sources(f, meter); l.err != nil {
		return l
	}
	for _, s := range l.sources {
		// This comes first, so that a disk that is mounted in between is listed.
		absent, err := backend.Absent(ctx, s.b)
		items, whole := c.items(ctx, s, meter)
		if err != nil && whole {
			meter.problem(fmt.Errorf("%s: %w", s.Root.Sessions, err))
		}
		s.absent = absent
		l.items = append(l.items, items...)
		if !whole || err != nil {
			l.partly[s.name] = true
		}
	}
	return l
}

// sources returns the sources that a filter chooses. One that cannot be opened is reported and left out.
func (c *Copier) sources(f *Filter, meter *meter) (list []*source, err error) {
	matched := map[string]bool{}
	for _, src := range c.m.Sources() {
		s := &source{Source: src, name: place.SourceName(c.m.Env(), src)}
		if len(f.Sources) > 0 {
			i := slices.IndexFunc(f.Sources, func(name string) bool { return s.called(c.m, name) })
			if i < 0 {
				continue
			}
			matched[f.Sources[i]] = true
		}
		if src.Needs != "" || src.Origin != "" || c.opt.Pulled != "" && place.Within(c.opt.Pulled, src.Root.Sessions) {
			continue // pulled from another machine
		}
		err := src.Err
		if err == nil {
			s.b, err = c.m.Open(src.Root.Sessions)
		}
		if err != nil {
			meter.problem(fmt.Errorf("%s: %w", src.Root.Sessions, err))
			continue
		}
		list = append(list, s)
	}
	for _, name := range f.Sources {
		if !matched[name] {
			if _, err := c.m.Dialect(name); err != nil && !strings.Contains(name, ".") {
				return nil, fmt.Errorf("%q: %w", name, place.ErrUnknownSource)
			}
		}
	}
	return list, nil
}

// called reports whether a name refers to the source: the name of its agent, its name in archives, or a folder that contains it.
func (s *source) called(m *place.Machine, name string) bool {
	if d, err := m.Dialect(name); err == nil {
		return place.Sessions(d).Family() == s.Dialect.Family() && (d == s.Dialect || place.IsRuns(d))
	}
	return name == s.name || place.Within(m.Absolute(name), s.Root.Sessions)
}

// items lists the logs of a source with their names in the archive. An error of a folder is reported, and the list goes on; whole is then
// false.
func (c *Copier) items(ctx context.Context, s *source, meter *meter) (list []*item, whole bool) {
	var owned, rest []backend.Log
	folders := map[string]int{} // of sessions, by prefix
	layout, foldered := s.Dialect.Layout().(dialect.Foldered)
	whole = true
	for l, err := range s.b.List(ctx, "") {
		switch {
		case err != nil:
			whole = false
			meter.problem(fmt.Errorf("%s: %w", s.PathOf(l.Name), err))
		case s.Owns(l.Name):
			if foldered {
				if name := layout.Folder(path.Base(l.Name)); name != "" {
					folders[path.Join(path.Dir(l.Name), name)+"/"] = len(owned)
				}
			}
			owned = append(owned, l)
		case foldered:
			rest = append(rest, l)
		}
	}
	prefix := c.opt.Origin + "/" + s.name + "/"
	for _, l := range owned {
		list = append(list, &item{src: s, log: l, name: prefix + plainName(s.b, l.Name)})
	}
	for _, l := range rest {
		for dir := path.Dir(l.Name); dir != "."; dir = path.Dir(dir) {
			if i, ok := folders[dir+"/"]; ok {
				list = append(list, &item{src: s, log: l, name: prefix + plainName(s.b, l.Name), of: list[i]})
				break
			}
		}
	}
	return list, whole
}

// cwd returns the working directory of the session that a log belongs to, or "" if it is not known.
func (c *Copier) cwd(ctx context.Context, it *item) string {
	if it.of != nil {
		it = it.of
	}
	row := place.Row{Source: it.src.Source, Path: it.path(), Log: it.log}
	c.m.NewPeeker().Peek(ctx, it.src.b, &row, place.ListOptions{})
	return row.CWD
}

// shares reports whether the filter chooses the project of a log. The working directory is returned to be stored in the watermark.
func (c *Copier) shares(ctx context.Context, f *Filter, it *item, w *watermark) (bool, *string) {
	if f.Project == nil {
		return true, nil
	}
	var cwd *string
	if w != nil {
		cwd = w.CWD
	}
	if cwd == nil {
		dir := c.cwd(ctx, it)
		cwd = &dir
	}
	return *cwd != "" && f.Project(*cwd), cwd
}

// Agent returns the name of the dialect from the name of a source in an archive.
func Agent(source string) string {
	name, _, _ := strings.Cut(source, ".")
	return name
}
