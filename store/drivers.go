package store

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// withDrivers lets the drivers open the folders that they claim. A folder of an agent whose driver is missing is not opened
// at all: its files are not logs.
func (o *Options) withDrivers() {
	openDir, writeDir := o.OpenDir, o.WriteDir
	open := func(dir string, opt backend.OpenOptions, plain func() (backend.Backend, error)) (backend.Backend, error) {
		if d, err := backend.FindDriver(o.Drivers, dir); err == nil {
			return d.Open(dir, opt)
		}
		if err := o.checkDriver(dir); err != nil {
			return nil, err
		}
		return plain()
	}
	o.OpenDir = func(dir string) (backend.Backend, error) {
		return open(dir, backend.OpenOptions{ReadOnly: true}, func() (backend.Backend, error) { return openDir(dir) })
	}
	if writeDir == nil {
		return
	}
	o.WriteDir = func(dir string, level Durability, repaired func(session.Problem)) (backend.Backend, error) {
		return open(dir, backend.OpenOptions{Durability: backend.Durability(level)}, func() (backend.Backend, error) {
			return writeDir(dir, level, repaired)
		})
	}
}

// needs gives the name of the driver that a root needs and the store does not have; "" if it has all it needs.
func (o *Options) needs(r dialect.Root) string {
	if slices.ContainsFunc(o.Drivers, func(d backend.Driver) bool { return d.Name == r.Driver }) {
		return ""
	}
	return r.Driver
}

// checkDriver fails for a root of an agent whose driver is missing.
func (o *Options) checkDriver(dir string) error {
	for _, d := range o.Dialects {
		layout := d.Layout()
		name := o.needs(layout.RootAt(""))
		if name == "" {
			continue
		}
		for _, r := range layout.Roots(o.Env) {
			if r.Sessions == filepath.Clean(dir) {
				return fmt.Errorf("%s: %w: it needs the driver %q", dir, backend.ErrNoDriver, name)
			}
		}
	}
	return nil
}

// claimed reports whether a driver claims a folder.
func (s *Store) claimed(dir string) bool {
	_, err := backend.FindDriver(s.opt.Drivers, dir)
	return err == nil
}

// readable are the sources whose drivers are there.
func (s *Store) readable() []Source {
	return slices.DeleteFunc(s.Sources(), func(src Source) bool { return src.Needs != "" })
}

// linesOf reports whether a log consists of lines.
func linesOf(b backend.Backend, name string) bool {
	l, ok := b.(interface{ Lines(name string) bool })
	return ok && l.Lines(name) || backend.IsText(name)
}
