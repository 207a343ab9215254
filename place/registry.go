package place

import (
	"context"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// entitle fills in the titles that an agent keeps in a file of its own. A catalogue does not have them: a name changes without its log.
func (m *Machine) entitle(ctx context.Context, rows []Row) {
	known := map[string]map[session.ID]string{} // by folder
	for i := range rows {
		r := &rows[i]
		if c, ok := r.Dialect.(dialect.Captioner); ok && r.OK && r.Title == "" {
			r.Title = m.caption(ctx, c, r)
		}
		registrar, ok := r.Dialect.(dialect.Registrar)
		if !ok || !r.OK {
			continue
		}
		base := m.BaseOf(r.Source.Root)
		names, ok := known[base]
		if !ok {
			names = m.registered(ctx, base, registrar)
			known[base] = names
		}
		r.Title = names[r.ID]
	}
}

// registered reads an agent's file of names. The result is empty if the file is missing or cannot be read.
func (m *Machine) registered(ctx context.Context, base string, r dialect.Registrar) map[session.ID]string {
	if base == "" {
		return nil
	}
	l, err := m.Locate(Join(base, r.Registry()))
	var at backend.Log
	if err == nil {
		at, err = l.Backend.Stat(ctx, l.Name)
	}
	var content []byte
	if err == nil {
		content, err = backend.ReadAll(ctx, l.Backend, at)
	}
	if err != nil {
		return nil
	}
	return r.Registered(content)
}

// caption reads the title from the folder of a session that has none in its records.
func (m *Machine) caption(ctx context.Context, c dialect.Captioner, r *Row) string {
	l, err := m.Locate(r.Path)
	if err != nil {
		return ""
	}
	content, err := ReadSideFile(ctx, r.Dialect, l, c.CaptionFile())
	if err != nil {
		return "" // most sessions have no such file
	}
	return c.Caption(content)
}
