package push

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/place"
)

// PullOptions are the options of Pull.
type PullOptions struct {
	Filter
	// Origins are the origins whose logs are copied, with the wildcards of path.Match. If there are none, this machine's own origin is
	// meant.
	Origins []string
	// Into is a folder for all logs. With "", this machine's logs are put back into their sources, and others into Options.Pulled.
	Into string
	// Deletions moves logs that were removed in the archive to the trash.
	Deletions bool
	// Redacted copies logs of this machine in which secrets were redacted, if they no longer exist here. A log that exists here never gets
	// a redacted text.
	Redacted bool
	// Removed copies logs that were removed here.
	Removed bool
	// DryRun only reports what would be done.
	DryRun bool
	// Workers is the number of logs that are copied at once; 0 means a number that suits the machine.
	Workers int
	// Event, if set, is called for each log that is not unchanged, and Progress when it advances. There are no concurrent calls.
	Event    func(Event)
	Progress func(Progress)
}

// ErrNoLogs is wrapped by the error for origins without logs in the archive.
var ErrNoLogs = errors.New("it has no logs of that origin")

// puller is one Pull.
type puller struct {
	c     *Copier
	t     Target
	m     backend.Mirror
	opt   PullOptions
	marks *watermarks
	meter *meter
	own   map[string]*source // sources of this machine, by name in archives
	here  map[string]*item   // local logs, by name in the archive
	kept  map[string]bool    // folders of sessions, by name in the archive
	bases map[base]string    // paths of this machine's sessions
	blobs sync.Map           // blobs that were copied; see carrier.done
}

// Pull copies what is new in an archive to this machine. See Push for the meaning of the error and the report.
func (c *Copier) Pull(ctx context.Context, t Target, opt PullOptions) (Report, error) {
	m, err := t.mirror()
	if err != nil {
		return Report{}, err
	}
	id, err := t.identity(ctx)
	if err != nil {
		return Report{}, err
	}
	p := &puller{c: c, t: t, m: m, opt: opt, meter: newMeter(opt.Event, opt.Progress), own: map[string]*source{}, here: map[string]*item{}, kept: map[string]bool{}, bases: map[base]string{}}
	if p.marks, err = openWatermarks(c.opt.State, p.scope(id)); err != nil {
		return Report{}, err
	}
	err = p.all(ctx)
	return p.meter.report, errors.Join(err, p.marks.close())
}

// scope returns what watermarks belong to: a folder of the caller's has watermarks of its own.
func (p *puller) scope(id string) string {
	if p.opt.Into != "" && id != "" {
		return id + "\x00" + p.opt.Into
	}
	return id
}

// all copies the logs of all chosen origins.
func (p *puller) all(ctx context.Context) error {
	origins, err := p.origins(ctx)
	if err != nil {
		return err
	}
	var todo []backend.Marked
	for _, origin := range origins {
		there, err := listed(ctx, p.m, origin+"/")
		if err != nil {
			return err
		}
		// Names in an archive are checked before they become paths, because another user may have written them.
		maps.DeleteFunc(there, func(name string, _ backend.Marked) bool { return backend.CheckName(name) != nil })
		if err := p.look(ctx, origin, there); err != nil {
			return err
		}
		p.keep(origin, there)
		for _, l := range there {
			if p.chosen(l) {
				todo = append(todo, l)
			}
		}
	}
	sorting.By(todo, func(a, b backend.Marked) int { return strings.Compare(a.Name, b.Name) })
	p.meter.at.Total = len(todo)
	for _, l := range todo {
		if w := p.marks.get(l.Name); w == nil || !w.copied(l.Log) {
			p.meter.at.OfBytes += l.Size
		}
	}
	each(ctx, len(todo), workers(p.opt.Workers), func(i int) {
		e := p.log(ctx, todo[i])
		if e.Err != nil && ctx.Err() != nil {
			return
		}
		if e.Fate != "" {
			p.meter.done(e)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// origins returns the chosen origins in the archive.
func (p *puller) origins(ctx context.Context) ([]string, error) {
	if len(p.opt.Origins) == 0 {
		if p.c.opt.Origin == "" {
			return nil, ErrNoOrigin
		}
		return []string{p.c.opt.Origin}, nil
	}
	all, err := backend.Folders(ctx, p.t.Backend, "")
	if err != nil {
		return nil, err
	}
	for _, w := range p.marks.all() { // an origin whose logs are all gone counts, too
		if origin, _, _ := strings.Cut(w.Name, "/"); !slices.Contains(all, origin) {
			all = append(all, origin)
		}
	}
	var list []string
	for _, pattern := range p.opt.Origins {
		found := strings.ContainsAny(pattern, `*?[\`)
		for _, origin := range all {
			ok, err := path.Match(pattern, origin)
			if err != nil {
				return nil, fmt.Errorf("origin %q: %w", pattern, err)
			}
			// The host name of an origin is sufficient.
			host := strings.LastIndexByte(origin, '-')
			if ok || host > 0 && origin[:host] == pattern {
				found = true
				if !slices.Contains(list, origin) {
					list = append(list, origin)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: %w: %q; it has %s", p.t.Shown, ErrNoLogs, pattern, strings.Join(all, ", "))
		}
	}
	return list, nil
}

// back reports whether the logs of an origin go back into their sources.
func (p *puller) back(origin string) bool { return origin == p.c.opt.Origin && p.opt.Into == "" }

// look lists the logs of an origin on this machine.
func (p *puller) look(ctx context.Context, origin string, there map[string]backend.Marked) error {
	if p.back(origin) {
		sources, err := p.c.sources(&Filter{}, p.meter)
		if err != nil {
			return err
		}
		for _, s := range sources {
			p.own[s.name] = s
			items, _ := p.c.items(ctx, s, p.meter)
			for _, it := range items {
				p.here[it.name] = it
				if s.Owns(it.log.Name) {
					p.bases[base{s.Dialect.Name(), path.Base(it.name)}] = it.path()
				}
			}
		}
		return nil
	}
	seen := map[string]bool{}
	for name := range there {
		_, source, _, ok := backend.SplitArchived(name)
		if !ok || seen[source] {
			continue
		}
		seen[source] = true
		if !plainFolder(origin) || !plainFolder(source) {
			continue // log reports it
		}
		s, err := p.folder(origin, source)
		if err != nil {
			return err
		}
		prefix := origin + "/" + source + "/"
		for l, err := range s.b.List(ctx, "") {
			if err != nil {
				p.meter.problem(fmt.Errorf("%s: %w", s.PathOf(l.Name), err))
				continue
			}
			p.here[prefix+l.Name] = &item{src: s, log: l, name: prefix + l.Name}
		}
	}
	return nil
}

// base is the last part of the name of an agent's session.
type base struct{ agent, name string }

// moved returns the path here of a session that is not in its place: its agent archived it, or its project was moved. The names of files have
// the ids of sessions, unless all sessions of the agent have the same file name.
func (p *puller) moved(s *source, name string) string {
	layout := s.Dialect.Layout()
	if !s.Owns(name) || path.Base(layout.File(time.Time{}, "a")) == path.Base(layout.File(time.Time{}, "b")) {
		return ""
	}
	return p.bases[base{s.Dialect.Name(), path.Base(name)}]
}

// plainFolder reports whether the name of an origin or a source is valid for a folder here: it is not hidden, and has no special meaning on
// any system.
func plainFolder(name string) bool {
	local, err := filepath.Localize(name)
	return err == nil && local == name && !strings.ContainsAny(name, `/\:`) && !strings.HasPrefix(name, ".")
}

// source returns the source here for the logs of a source in the archive, or nil if there is none.
func (p *puller) source(origin, name string) *source {
	if p.back(origin) {
		return p.own[name]
	}
	return p.own[origin+"/"+name]
}

// keep notes the folders of an origin's sessions.
func (p *puller) keep(origin string, there map[string]backend.Marked) {
	for name := range there {
		_, source, rest, _ := backend.SplitArchived(name)
		s := p.source(origin, source)
		if s == nil || !s.Owns(rest) {
			continue
		}
		if layout, ok := s.Dialect.Layout().(dialect.Foldered); ok {
			if folder := layout.Folder(path.Base(rest)); folder != "" {
				p.kept[path.Join(path.Dir(name), folder)] = true
			}
		}
	}
}

// belongs reports whether Push would have sent a log: it is a session, or a file in the folder of one. Anything else could be a file that
// the agent reads for another purpose.
func (p *puller) belongs(s *source, name, rest string) bool {
	if s.Owns(rest) {
		return true
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if p.kept[dir] {
			return true
		}
	}
	return false
}

// folder returns the source for logs of another origin: a folder with the agent's own layout, and with blobs of its own.
func (p *puller) folder(origin, name string) (*source, error) {
	if s := p.own[origin+"/"+name]; s != nil {
		return s, nil
	}
	dir := p.opt.Into
	if dir == "" {
		dir = p.c.opt.Pulled
	}
	d, err := p.c.m.Dialect(Agent(name))
	if err != nil {
		d = p.c.m.Dialects()[0] // a newer program wrote the source
	}
	root := Root(d, place.Join(dir, origin, name))
	s := &source{Source: place.Source{Dialect: d, Root: root}, name: name}
	if s.b, err = p.c.m.Open(root.Sessions); err != nil {
		return nil, err
	}
	p.own[origin+"/"+name] = s
	return s, nil
}

// Root returns the place of a dialect's logs in a folder for those of another machine. The layout is the agent's own; an agent with a
// database gets files instead.
func Root(d dialect.Dialect, dir string) dialect.Root {
	root := d.Layout().RootAt(dir)
	if root.Driver != "" {
		root = dialect.Root{Sessions: place.Join(dir, "sessions")}
	}
	return root
}

// chosen reports whether the filter chooses a log, apart from its project.
func (p *puller) chosen(l backend.Marked) bool {
	_, source, _, ok := backend.SplitArchived(l.Name)
	if !ok || p.opt.Since.After(l.Time) {
		return false
	}
	agent := Agent(source)
	return len(p.opt.Sources) == 0 || slices.Contains(p.opt.Sources, source) || slices.Contains(p.opt.Sources, agent)
}

// log copies one log.
func (p *puller) log(ctx context.Context, there backend.Marked) (e Event) {
	origin, source, name, _ := backend.SplitArchived(there.Name)
	e.Name = there.Name
	s := p.source(origin, source)
	switch {
	case !p.back(origin) && (!plainFolder(origin) || !plainFolder(source)):
		e.Fate, e.Why = Withheld, "its name cannot be that of a folder here"
		return e
	case s == nil:
		e.Fate, e.Why = Withheld, "this machine has no source "+source
		return e
	case !p.belongs(s, there.Name, name):
		e.Fate, e.Why = Withheld, "it is neither a session nor a file of one"
		return e
	}
	e.Path = s.PathOf(name)
	it := p.here[there.Name]
	if it != nil {
		e.Path = it.path()
	}
	if p.opt.Project != nil {
		row := place.Row{Source: s.Source, Path: e.Path, Log: there.Log}
		p.c.m.NewPeeker().Peek(ctx, p.t.Backend, &row, place.ListOptions{})
		if row.CWD == "" || !p.opt.Project(row.CWD) {
			return Event{}
		}
	}
	for try := 0; ; try++ {
		f := &fetching{p: p, there: there, src: s, name: name, it: it, e: &e, asked: map[blob.Ref]bool{}}
		err := f.try(ctx)
		if err == nil {
			return e
		}
		if changedMeanwhile(err) && try < mostTries {
			var now map[string]backend.Marked
			if now, err = listed(ctx, p.m, there.Name); err == nil {
				it = f.now(ctx)
				if l, ok := now[there.Name]; ok {
					there = l
					continue
				}
				return Event{} // it was removed meanwhile
			}
		}
		if errors.Is(err, ErrNoMirror) {
			e.Fate, e.Redacted, e.Why = Withheld, false, whyRows
			return e
		}
		e.Fate, e.Err = Failed, fmt.Errorf("%s: %w", e.Path, err)
		return e
	}
}

// whyRows is the reason for withholding a log from a source that is no Mirror.
const whyRows = "pull does not write the database or store of its agent; --into DIR makes a file of it, which " +
	"'treeline resume --in AGENT FILE' continues in another agent"
