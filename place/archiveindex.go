package place

import (
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
)

// OpenIndex opens the index that an archive shares with all programs that use it. It returns nil if no driver has one, or if the archive is
// not the machine's only place.
func (m *Machine) OpenIndex(drivers []index.Driver) (index.Shared, error) {
	if len(m.archives) != 1 || len(m.opt.Roots) != 1 {
		return nil, nil
	}
	for _, d := range drivers {
		if d.Scheme == backend.Scheme(m.archives[0].given) {
			return d.Open(m.archives[0].given)
		}
	}
	return nil, nil
}

// ArchiveFolder returns the folder of the first archive that the machine shows: "" is all of it, otherwise ORIGIN or ORIGIN/SOURCE.
func (m *Machine) ArchiveFolder() string {
	if len(m.archives) == 0 {
		return ""
	}
	return m.archives[0].below
}

// ArchivedSource returns the source for a folder ORIGIN/SOURCE of the first archive; ok is false if there is no archive.
func (m *Machine) ArchivedSource(folder string) (src Source, ok bool) {
	if len(m.archives) == 0 {
		return Source{}, false
	}
	src, _, ok = m.sourceOf(Join(m.archives[0].shown, folder))
	return src, ok
}

// ArchivedFolder returns the folder in an archive that a path names: ORIGIN/SOURCE, ORIGIN, or "" for the archive itself. ok is false for a
// path outside of archives.
func (m *Machine) ArchivedFolder(path string) (folder string, ok bool) {
	_, folder, ok = m.inArchive(Clean(path))
	return folder, ok
}
