package file

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Append implements backend.Backend. See the package comment for the changes that it notices. After a failed write it tries
// to cut off the part that was written.
func (b *Backend) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	w, err := b.take(ctx, at.Name)
	if err != nil {
		return backend.Log{}, err
	}
	defer b.give(w)
	if !backend.IsText(at.Name) {
		return backend.Log{}, fmt.Errorf("%s: %w: only a log of lines can be appended to", at.Name, backend.ErrRecord)
	}
	// The first byte is for the newline that the last record may lack, so that one write is enough.
	if w.buf, err = backend.Encode(append(w.buf[:0], '\n'), at.Name, true, records...); err != nil {
		return backend.Log{}, err
	}
	return w.append(ctx, at, w.buf)
}

// append writes lines[1:], or all of lines if the last newline is missing.
func (w *writer) append(ctx context.Context, at backend.Log, lines []byte) (backend.Log, error) {
	info, err := w.lock(ctx)
	if err != nil {
		return backend.Log{}, err
	}
	defer w.unlock()
	if err := w.verify(at, info); err != nil {
		return backend.Log{}, err
	}
	if len(lines) == 1 { // no records: only compare
		return w.last, nil
	}
	batch := lines[1:]
	var added *backend.Mended
	if n := len(w.tail); n > 0 && w.tail[n-1] != '\n' {
		if added, err = w.mend(ctx); err != nil {
			return backend.Log{}, err
		}
		if added != nil {
			batch = lines
		}
	}
	before := w.left
	if err := w.write(before.Size, batch); err != nil {
		return backend.Log{}, err
	}
	if added != nil {
		w.b.opt.Mended(*added)
	}
	return w.settle(before, batch)
}

// write writes the batch at the end, in one piece, and syncs it with DurabilityAlways.
func (w *writer) write(before int64, batch []byte) error {
	w.left = durable.Info{} // unknown for now
	n, err := w.f.Write(batch)
	if err == nil {
		w.dirty = true
		if w.b.opt.Durability != backend.DurabilityAlways {
			return nil
		}
		err = w.sync()
	}
	if err == nil {
		return nil
	}
	// Cut off the part that was written: a record whose write failed must not turn up later. But cut only if no other
	// program wrote after it.
	if now, serr := w.f.Stat(); serr == nil && n > 0 && now.Size == before+int64(n) {
		_ = w.f.Truncate(before)
	}
	w.drop() // after a failed sync a second one on the same descriptor proves nothing
	return failed(w.name, err)
}

// settle checks the file after the write: it still has a name, and the batch is at the expected offset. Following the path once more would
// notice little more, and costs half as much as the write.
func (w *writer) settle(before durable.Info, batch []byte) (backend.Log, error) {
	info, err := w.f.Stat()
	if err != nil {
		return backend.Log{}, failed(w.name, err)
	}
	if info.Links == 0 {
		w.drop()
		return backend.Log{}, fmt.Errorf("%s: %w: it was replaced or removed while it was appended to", w.name, backend.ErrConflict)
	}
	// The new tail is known without a read: the batch, and for a short batch the end of the old tail.
	if tail := batch; len(tail) >= tailSize {
		w.tail = append(w.tail[:0], tail[len(tail)-tailSize:]...)
	} else {
		w.tail = append(w.tail, tail...)
		w.tail = w.tail[max(0, len(w.tail)-tailSize):]
	}
	end := before.Size + int64(len(batch))
	if info.Size == end {
		w.gauge(before.Changed, info.Changed)
		w.left = info
		w.last = fullLogOf(w.name, info, w.tail)
		return w.last, nil
	}
	// A writer without a lock wrote meanwhile. If its bytes came after the batch, the caller gets the log up to the
	// batch, and a conflict at its next mutation. If they came before, the caller must read them.
	there := make([]byte, len(batch))
	if _, err := w.f.ReadAt(there, before.Size); err != nil || !bytes.Equal(there, batch) {
		return backend.Log{}, fmt.Errorf("%s: %w", w.name, backend.ErrInterleaved)
	}
	info.Size = end
	return fullLogOf(w.name, info, w.tail), nil
}

// mend makes room after an unterminated last line. If the line is complete and only lacks its newline, mend returns what to
// report once that is written. A torn record is moved to another file, after its writer had time to finish it.
func (w *writer) mend(ctx context.Context) (added *backend.Mended, err error) {
	begin, line, err := w.lastLine()
	if err != nil {
		return nil, err
	}
	mended := backend.Mended{Log: w.name, Offset: begin, Size: int64(len(line))}
	if rawjson.Valid(line) {
		return &mended, nil
	}
	if err := w.standStill(ctx); err != nil {
		return nil, err
	}
	var kept string
	if mended.To, kept, err = w.keep(line); err != nil {
		return nil, err
	}
	// The bytes are durable in their new file. Only now may they be cut off here. That took two syncs, so the file is checked once more:
	// what another program wrote meanwhile would be cut off too. In that case the torn record stays here, and its copy is removed.
	if info, err := w.f.Stat(); err != nil || info != w.left {
		w.left = durable.Info{}
		_ = w.b.fs.Remove(kept) // the bytes are still in the log
		return nil, cmp.Or(failed(w.name, err), conflict(w.name))
	}
	w.dirty = true
	if err := w.f.Truncate(begin); err != nil {
		w.left = durable.Info{}
		return nil, failed(w.name, err)
	}
	w.b.opt.Mended(mended)
	w.left = durable.Info{}
	info, tail, err := look(w.f, w.name, -1)
	if err != nil {
		return nil, err
	}
	if info.Size != begin {
		return nil, conflict(w.name)
	}
	w.note(info, tail)
	return nil, nil
}

// lastLine reads the bytes after the last newline. A line that is too long for memory is a *backend.LongLineError.
func (w *writer) lastLine() (begin int64, line []byte, err error) {
	// Backwards, since the file may be long.
	const step = 64 << 10
	room := make([]byte, min(w.left.Size, step))
	for begin = w.left.Size; begin > 0; {
		chunk := room[:min(begin, step)]
		if _, err := w.f.ReadAt(chunk, begin-int64(len(chunk))); err != nil {
			return 0, nil, failed(w.name, err)
		}
		if i := bytes.LastIndexByte(chunk, '\n'); i >= 0 {
			begin -= int64(len(chunk) - i - 1)
			break
		}
		begin -= int64(len(chunk))
	}
	if w.left.Size-begin > int64(w.b.opt.LongestLine) {
		return 0, nil, &backend.LongLineError{File: w.name, Offset: begin, Most: w.b.opt.LongestLine}
	}
	line = make([]byte, w.left.Size-begin)
	_, err = w.f.ReadAt(line, begin)
	return begin, line, failed(w.name, err)
}

// standStill returns when the file has been unchanged for TornWait. If it changes meanwhile, that is a conflict.
func (w *writer) standStill(ctx context.Context) error {
	age := w.b.opt.Clock().Sub(time.Unix(0, w.left.Nanos))
	if age >= w.b.opt.TornWait {
		return nil
	}
	// A time in the future counts as now.
	if err := w.b.opt.Wait(ctx, w.b.opt.TornWait-max(age, 0)); err != nil {
		return err
	}
	info, err := w.b.fs.Stat(w.path)
	if gone(err) || err == nil && info != w.left {
		return conflict(w.name)
	}
	return failed(w.name, err)
}

// keep saves a torn record in a file of its own.
func (w *writer) keep(torn []byte) (name, path string, err error) {
	now := w.b.opt.Clock()
	for try := range patience {
		name, path = backend.TornName(w.name, now, try), backend.TornName(w.path, now, try)
		_, err = durable.Create(w.b.fs, path, w.left.Mode.Perm(), bytes.NewReader(torn))
		if err == nil {
			return name, path, nil
		}
		if !taken(err) {
			break
		}
	}
	return "", "", failed(w.name, err)
}
