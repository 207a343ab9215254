package trash

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/place"
)

// search searches the files of a folder that changed since the last pass for references, and counts these files. The name of a file does
// not matter: backups, torn ends and exports refer to blobs like sessions do.
func (g *collector) search(ctx context.Context, folder string) (fresh int, err error) {
	b, err := g.m.Open(folder)
	if err != nil {
		return 0, err
	}
	for log, err := range b.List(ctx, "") {
		if ctx.Err() != nil {
			return fresh, context.Cause(ctx)
		}
		path := place.Join(folder, log.Name)
		if err != nil {
			g.unread(pathOf(err, path), err)
			continue
		}
		if backend.Lines(b, log.Name) || strings.HasSuffix(log.Name, ".json") {
			g.sessions[path] = log.Time
		}
		// The key contains the folder: a driver may show the same file under another folder as another log.
		key := folder + "\x00" + log.Name
		if g.seen[key] == log {
			continue
		}
		fresh++
		err := g.markReferences(ctx, b, log)
		switch {
		case err == nil:
			g.seen[key] = log
		case errors.Is(err, backend.ErrNotExist), errors.Is(err, backend.ErrChanged):
			// The next pass sees what happened to it.
		default:
			g.unread(path, err)
		}
	}
	return fresh, nil
}

// pathOf returns the path that an error names, or else the given path.
func pathOf(err error, path string) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Path
	}
	return path
}

// markReferences marks the blobs whose hash occurs in a file. The bytes are searched, not decoded, so that a reference in a damaged record
// counts, too.
func (g *collector) markReferences(ctx context.Context, b backend.Backend, at backend.Log) error {
	r, err := backend.OpenLog(ctx, b, at)
	if err != nil {
		return err
	}
	defer r.Close()
	const chunk = 1 << 20
	if g.buf == nil {
		g.buf = make([]byte, hashLen+chunk)
	}
	kept := 0 // bytes of the last chunk that may begin a hash
	for offset := int64(0); offset < at.Size; {
		want := min(int64(chunk), at.Size-offset)
		n, err := r.ReadAt(g.buf[kept:kept+int(want)], offset)
		if int64(n) < want {
			if err == nil || errors.Is(err, io.EOF) {
				err = backend.ErrChanged // the file is shorter than it was
			}
			return err
		}
		text := g.buf[:kept+n]
		markHashes(text, g.used)
		offset += int64(n)
		kept = copy(g.buf, text[max(0, len(text)-hashLen+1):])
	}
	return nil
}

const hashLen = 2 * len(blob.Ref{})

// markHashes marks those keys of used that occur in a text. More than 64 hex digits in a row contain a hash at each position, and all of
// them count. Only lower-case digits count, since blob.Ref has no others.
func markHashes(text []byte, used map[blob.Ref]bool) {
	for end := hashLen; end <= len(text); {
		// Searching backwards skips other text in strides of up to 64 bytes.
		i := end - 1
		for i >= end-hashLen && hexDigit[text[i]] {
			i--
		}
		if i >= end-hashLen {
			end = i + 1 + hashLen
			continue
		}
		if ref, err := blob.ParseRef(blob.Prefix + string(text[end-hashLen:end])); err == nil {
			if _, known := used[ref]; known {
				used[ref] = true
			}
		}
		end++
	}
}

var hexDigit = func() (is [256]bool) {
	for _, c := range []byte("0123456789abcdef") {
		is[c] = true
	}
	return is
}()
