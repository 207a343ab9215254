package place

import (
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
)

// BlobDir returns the folder in which the blob references of a log are looked up: the one in the agent's folder around the log, or the
// agent's default one; "" if the dialect has none. An archive keeps the blobs of all its logs.
func (m *Machine) BlobDir(path string, d dialect.Dialect) string {
	if a, _, ok := m.inArchive(path); ok && d.Layout().RootAt("").Blobs != "" {
		return a.shown
	}
	abs, err := Abs(path)
	if err != nil || path == "" || isURL(abs) {
		return ""
	}
	// A folder that was copied as a whole has its own blobs beside its sessions.
	if dir, ok := SessionsAbove(abs); ok {
		return d.Layout().RootAt(Dir(dir)).Blobs
	}
	for _, r := range d.Layout().Roots(m.opt.Env) {
		if r.Blobs != "" {
			return r.Blobs
		}
	}
	return ""
}

// Blobs returns the blobs that the references of a log are looked up in; nil if there are none.
func (m *Machine) Blobs(path string, d dialect.Dialect) blob.Reader {
	dir := m.BlobDir(path, d)
	if isURL(dir) {
		return m.kept(path, m.Open)
	}
	return m.BlobsIn(dir)
}

// BlobsIn returns the blobs of a folder; nil if there are none.
func (m *Machine) BlobsIn(dir string) blob.Reader {
	if dir == "" || m.opt.OpenBlobs == nil {
		return nil
	}
	return m.opt.OpenBlobs(dir)
}

// BlobsAs is Blobs for a writer; see OpenAs.
func (m *Machine) BlobsAs(writer backend.Writer, path string, d dialect.Dialect) blob.Store {
	dir := m.BlobDir(path, d)
	if !isURL(dir) {
		return m.BlobsInWriting(dir)
	}
	if m.opt.ReadOnly {
		return nil
	}
	return m.kept(path, func(root string) (backend.Backend, error) { return m.OpenAs(writer, root, "") })
}

// BlobsInWriting is BlobsIn for writing.
func (m *Machine) BlobsInWriting(dir string) blob.Store {
	if dir == "" || m.opt.WriteBlobs == nil {
		return nil
	}
	return m.opt.WriteBlobs(dir)
}
