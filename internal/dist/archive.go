package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive, a package or a release. Its path has slashes and is relative.
type file struct {
	path string
	mode fs.FileMode
	data []byte
}

// write writes the file below a folder.
func (f file) write(dir string) error {
	name := filepath.Join(dir, filepath.FromSlash(f.path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, f.data, f.mode)
}

// sorted returns files ordered by path, so that archives do not depend on another order.
func sorted(files []file) []file {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files
}

// tarball makes a tar of files and of the folders above them, compressed with gzip. All belong to root and have one time.
func tarball(files []file, prefix string, when time.Time) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(packed)
	known := map[string]bool{".": true, "/": true}
	var folder func(dir string) error
	folder = func(dir string) error {
		if known[dir] {
			return nil
		}
		known[dir] = true
		if err := folder(path.Dir(dir)); err != nil {
			return err
		}
		return w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeDir, Name: prefix + dir + "/", Mode: 0o755, ModTime: when, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		})
	}
	for _, f := range sorted(files) {
		if err := folder(path.Dir(f.path)); err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: prefix + f.path, Size: int64(len(f.data)), Mode: int64(f.mode), ModTime: when, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), packed.Close())
	return out.Bytes(), err
}

// zipped makes a zip of files.
func zipped(files []file, when time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestCompression) })
	for _, f := range sorted(files) {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: when.UTC()}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// squeezed returns data as a .gz file, without a name and a time.
func squeezed(data []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = w.Write(data)                                    // a buffer returns no error
	_ = w.Close()
	return out.Bytes()
}
