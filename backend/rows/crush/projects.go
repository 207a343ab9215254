package crush

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

const (
	// registry is the file that names all projects: {"projects":[{"path":…,"data_dir":…,"last_accessed":…}]}.
	registry = "projects.json"
	// database is the file in the data folder of a project; dataFolder is that folder unless the registry names another.
	database   = "crush.db"
	dataFolder = ".crush"
	// member is the member of a log's first record with the directory of the project.
	member = "project"
)

// projects is the Schema of all projects in the folder of a registry. The id of a session there is the directory of its project, spelled so
// that it is one name, and the id of the session, with a slash between them. If the path is that of a database, or of a project below the
// registry, its sessions are shown alone, under their own ids.
type projects struct {
	root string
	// only is the directory of the project that is shown alone, "" for all.
	only string

	mu   sync.Mutex
	open map[string]*rows.Database // by path
}

var _ interface {
	rows.Schema
	rows.Stamper
	rows.Scattered
} = (*projects)(nil)

// newProjects returns the Schema of the folder of a registry, of one project below it, or of one database.
func newProjects(root string) *projects {
	p := &projects{root: filepath.Clean(root), open: map[string]*rows.Database{}}
	if filepath.Ext(p.root) == ".db" {
		if p.only = filepath.Dir(p.root); filepath.Base(p.only) == dataFolder {
			p.only = filepath.Dir(p.only)
		}
	} else if dir, ok := directory(filepath.Base(p.root)); ok {
		p.root, p.only = filepath.Dir(p.root), dir
	}
	return p
}

// oneName encodes the path of a directory as one name, and path decodes it.
var (
	oneName = strings.NewReplacer("%", "%25", "/", "%2F", `\`, "%5C", ":", "%3A")
	path    = strings.NewReplacer("%25", "%", "%2F", "/", "%5C", `\`, "%3A", ":")
)

// directory returns the directory of a project from its encoded name.
func directory(key string) (dir string, ok bool) {
	dir = path.Replace(key)
	return dir, filepath.IsAbs(dir) && oneName.Replace(dir) == key
}

// project is one of the projects.
type project struct {
	dir  string // its directory
	key  string // the beginning of ids, with its slash; "" if it is shown alone
	file string // its database
	db   *rows.Database
}

// project returns the project of a directory with its data folder, "" for the usual one.
func (p *projects) project(dir, data string) project {
	key := oneName.Replace(dir) + "/"
	if p.only != "" {
		key = ""
	}
	file := filepath.Join(dir, dataFolder, database)
	switch {
	case filepath.Ext(p.root) == ".db":
		file = p.root
	case filepath.IsAbs(data):
		file = filepath.Join(data, database)
	case data != "":
		file = filepath.Join(dir, data, database)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	db := p.open[file]
	if db == nil {
		db = rows.NewDatabase(file, Tables(), rows.Options{})
		p.open[file] = db
	}
	return project{dir, key, file, db}
}

// all returns the projects that are shown. A project that was removed has no sessions.
func (p *projects) all() (list []project, err error) {
	if p.only != "" {
		o, err := p.at(p.only)
		return []project{o}, err
	}
	return p.registered()
}

// at returns the project of a directory. A project that is not in the registry has the usual data folder.
func (p *projects) at(dir string) (project, error) {
	list, err := p.registered()
	for _, o := range list {
		if o.dir == dir {
			return o, nil
		}
	}
	return p.project(dir, ""), err
}

// registered returns the projects in the registry.
func (p *projects) registered() (list []project, err error) {
	if filepath.Ext(p.root) == ".db" {
		return nil, nil
	}
	file := filepath.Join(p.root, registry)
	text, err := durable.ReadRegular(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !rawjson.Valid(text) {
		return nil, &backend.DamageError{File: file, Line: 1, Message: "the registry of Crush's projects is not JSON", Advice: "the file was not changed"}
	}
	seen := map[string]bool{}
	for entry := range rawjson.Elements(rawjson.Get(text, "projects")) {
		if dir := rawjson.Str(entry, "path"); filepath.IsAbs(dir) && !seen[dir] {
			seen[dir] = true
			list = append(list, p.project(dir, rawjson.Str(entry, "data_dir")))
		}
	}
	return list, nil
}

// find returns the project of a session and the session's own id.
func (p *projects) find(id string) (project, string, error) {
	dir, own, ok := p.only, id, true
	if dir == "" {
		var key string
		key, own, _ = strings.Cut(id, "/")
		dir, ok = directory(key)
	}
	if !ok || own == "" || strings.Contains(own, "/") {
		return project{}, "", fmt.Errorf("%s: %w: it does not begin with the directory of a project, and sessions of Crush are in the databases of projects", id, backend.ErrName)
	}
	o, err := p.at(dir)
	return o, own, err
}

// named adds the directory of the project to the first record.
func (o project) named(header []byte) []byte {
	return rawjson.Set(header, member, rawjson.Quote(o.dir))
}

// bare removes the directory.
func bare(header []byte) []byte { return rawjson.Delete(header, member) }

// List implements rows.Schema.
func (p *projects) List(ctx context.Context) (ids []string, err error) {
	stamps, err := p.Stamps(ctx)
	for _, s := range stamps {
		if s.Err != nil {
			err = errors.Join(err, s.Err)
			continue
		}
		ids = append(ids, s.ID)
	}
	return ids, err
}

// Stamps implements rows.Stamper. A database that cannot be read hides the sessions of its own project only.
func (p *projects) Stamps(ctx context.Context) (list []rows.Stamp, err error) {
	projects, err := p.all()
	if err != nil {
		return nil, err
	}
	for _, o := range projects {
		stamps, err := o.db.Stamps(ctx)
		switch {
		case err == nil:
		case o.key == "" || ctx.Err() != nil:
			return nil, err
		default:
			list = append(list, rows.Stamp{ID: strings.TrimSuffix(o.key, "/"), Err: err})
		}
		for _, s := range stamps {
			header := o.named(s.Header)
			s.ID, s.Size, s.Header = o.key+s.ID, s.Size+int64(len(header)-len(s.Header)), header
			list = append(list, s)
		}
	}
	return list, nil
}

// Absent implements rows.Scattered.
func (p *projects) Absent(context.Context) (prefixes []string, err error) {
	projects, err := p.all()
	for _, o := range projects {
		if _, err := os.Stat(o.file); errors.Is(err, fs.ErrNotExist) {
			prefixes = append(prefixes, o.key)
		}
	}
	return prefixes, err
}

// Load implements rows.Schema.
func (p *projects) Load(ctx context.Context, id string) (rows.Session, error) {
	o, own, err := p.find(id)
	if err != nil {
		return rows.Session{}, err
	}
	s, err := o.db.Load(ctx, own)
	if err != nil {
		return rows.Session{}, err
	}
	return rows.Session{ID: id, Header: o.named(s.Header), Messages: s.Messages, Time: s.Time, Version: s.Version}, nil
}

// Parse implements rows.Schema.
func (p *projects) Parse(id string, records [][]byte) (rows.Session, error) {
	o, own, err := p.find(id)
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("%w: a session begins with its row", backend.ErrRecord)
	}
	if err != nil {
		return rows.Session{}, err
	}
	switch said := rawjson.Str(records[0], member); said {
	case o.dir:
	case "":
		return rows.Session{}, fmt.Errorf("%w: the session names no project, and the database is that of %s", backend.ErrRecord, o.dir)
	default:
		return rows.Session{}, fmt.Errorf("%w: the session is one of %s, and the database that of the project %s", backend.ErrRecord, said, o.dir)
	}
	s, err := o.db.Parse(own, append([][]byte{bare(records[0])}, records[1:]...))
	s.ID, s.Header = id, records[0]
	return s, err
}

// Touch implements rows.Schema: a trigger sets the time.
func (p *projects) Touch(header []byte) []byte { return header }

// Save implements rows.Schema.
func (p *projects) Save(ctx context.Context, s rows.Session) error {
	o, own, err := p.find(s.ID)
	if err != nil {
		return err
	}
	s.ID, s.Header = own, bare(s.Header)
	return o.db.Save(ctx, s)
}

// Remove implements rows.Schema.
func (p *projects) Remove(ctx context.Context, id, version string) error {
	o, own, err := p.find(id)
	if err != nil {
		return err
	}
	return o.db.Remove(ctx, own, version)
}

// Close closes the databases.
func (p *projects) Close() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, db := range p.open {
		err = errors.Join(err, db.Close())
	}
	clear(p.open)
	return err
}
