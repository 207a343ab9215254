package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Row is what an agent's own list shows of one log, in a form that only the caller knows: Head is small, and Rest may hold
// all texts of the log.
type Row struct {
	Name       string
	Stamp      Stamp
	Head, Rest []byte
}

// The rows of a folder are a file of their own in the folder "rows". It has a line that names it, the version, the lengths and checksums of
// two parts, then the heads of all rows and the rests. A list without texts does not read the second part.
const (
	rowsDir     = "rows"
	rowsMagic   = "treeline rows\n"
	rowsVersion = 1 // increased when the content of an agent's list changes
	rowsHead    = len(rowsMagic) + 4 + 2*12
)

// rowsPath returns the file of the rows of a folder for one list. The names of all files of a folder begin alike.
func (x *Index) rowsPath(folder, list string) string {
	sum := sha256.Sum256([]byte(folder))
	return filepath.Join(x.opt.Dir, rowsDir, hex.EncodeToString(sum[:16])+"-"+list)
}

// Rows returns what was kept for a list of a folder, by the names of logs; without rest the rows have no Rest. It is empty if nothing was
// kept or nothing can be read: then the caller reads the logs.
func (x *Index) Rows(folder, list string, rest bool) map[string]Row {
	rows := map[string]Row{}
	if x.opt.Dir == "" {
		return rows
	}
	f, err := x.fs.Open(x.rowsPath(folder, list), os.O_RDONLY, 0)
	if err != nil {
		return rows
	}
	defer f.Close()
	head := make([]byte, rowsHead)
	if _, err := f.ReadAt(head, 0); err != nil || string(head[:len(rowsMagic)]) != rowsMagic ||
		binary.LittleEndian.Uint32(head[len(rowsMagic):]) != rowsVersion {
		return rows
	}
	info, err := f.Stat()
	if err != nil {
		return rows
	}
	at := int64(rowsHead)
	part := func(n int) ([]byte, bool) {
		field := head[len(rowsMagic)+4+12*n:]
		size := binary.LittleEndian.Uint64(field)
		if size > uint64(info.Size-at) {
			return nil, false
		}
		data := make([]byte, size)
		_, err := f.ReadAt(data, at)
		at += int64(size)
		return data, (err == nil || size == 0) && crc32.Checksum(data, castagnoli) == binary.LittleEndian.Uint32(field[8:])
	}
	heads, ok := part(0)
	var rests []byte
	if ok && rest {
		rests, ok = part(1)
	}
	if !ok {
		return rows
	}
	if !decodeRows(heads, rests, rest, rows) {
		clear(rows)
	}
	return rows
}

func decodeRows(heads, rests []byte, rest bool, rows map[string]Row) bool {
	r := reader{text: string(heads)}
	for r.left() > 0 {
		l := Row{Name: r.string(), Stamp: Stamp{Generation: r.string(), Size: r.varint(), Nanos: r.varint(), Changed: r.varint()}}
		l.Head = []byte(r.string())
		n := r.uvarint()
		if rest {
			if n > uint64(len(rests)) {
				return false
			}
			l.Rest, rests = rests[:n:n], rests[n:]
		}
		rows[l.Name] = l
	}
	return !r.bad
}

// KeepRows replaces what is kept for a list of a folder. Nothing is synced or locked: the last process wins, and a row whose stamp is out
// of date is made again. A failure to keep the rows is not an error.
func (x *Index) KeepRows(folder, list string, rows map[string]Row) {
	if x.opt.Dir == "" {
		return
	}
	x.sweepRows.Do(x.forgetStray)
	path := x.rowsPath(folder, list)
	if len(rows) == 0 {
		_ = x.fs.Remove(path) // usually it does not exist
		return
	}
	var w writer
	var rests []byte
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		l := rows[name]
		w.string(l.Name)
		w.string(l.Stamp.Generation)
		w.varint(l.Stamp.Size)
		w.varint(l.Stamp.Nanos)
		w.varint(l.Stamp.Changed)
		w.string(string(l.Head))
		w.uvarint(uint64(len(l.Rest)))
		rests = append(rests, l.Rest...)
	}
	head := binary.LittleEndian.AppendUint32([]byte(rowsMagic), rowsVersion)
	for _, part := range [][]byte{w.data, rests} {
		head = binary.LittleEndian.AppendUint64(head, uint64(len(part)))
		head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(part, castagnoli))
	}
	if durable.MkdirAll(x.fs, filepath.Dir(path), 0o700) == nil {
		_, _ = durable.Replace(x.fs, path, 0o600, bytes.NewReader(slices.Concat(head, w.data, rests)))
	}
}

// ForgetRows removes what is kept of a folder when a log in it is gone: its texts must go, too.
func (x *Index) ForgetRows(folder string) {
	if x.opt.Dir == "" {
		return
	}
	path := x.rowsPath(folder, "")
	entries, err := x.fs.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)) {
			_ = x.fs.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// staleRows is how long rows are kept that no list uses: a folder that is gone is never listed again.
const staleRows = 30 * 24 * 60 * 60 * 1e9

// forgetStray removes rows that were not written for a month, and what crashes left.
func (x *Index) forgetStray() {
	dir := filepath.Join(x.opt.Dir, rowsDir)
	entries, err := x.fs.ReadDir(dir)
	if err != nil {
		return
	}
	var newest int64
	ages := map[string]int64{}
	for _, e := range entries {
		info, err := x.fs.Stat(filepath.Join(dir, e.Name()))
		if err != nil || info.Mode&fs.ModeType != 0 {
			continue
		}
		ages[e.Name()] = info.Nanos
		newest = max(newest, info.Nanos)
	}
	for name, at := range ages {
		if newest-at > staleRows || strings.HasPrefix(name, durable.TempPrefix) && newest-at > staleRows/30 {
			_ = x.fs.Remove(filepath.Join(dir, name))
		}
	}
}
