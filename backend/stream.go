package backend

import (
	"bytes"
	"context"
	"io"
	"iter"
)

// Streamer is a Backend that can create a log that is larger than the memory.
type Streamer interface {
	// CreateFrom is Create for a sequence of records. Each is valid until the next step. It ends at the first error, and then there is no
	// log.
	CreateFrom(ctx context.Context, name string, records iter.Seq2[[]byte, error]) (Log, error)
}

// CreateFrom creates a log from a sequence of records. If the Backend is not a Streamer, they are collected first.
func CreateFrom(ctx context.Context, b Backend, name string, records iter.Seq2[[]byte, error]) (Log, error) {
	if s, ok := b.(Streamer); ok && Lines(b, name) {
		return s.CreateFrom(ctx, name, records)
	}
	var list [][]byte
	for r, err := range records {
		if err != nil {
			return Log{}, err
		}
		list = append(list, bytes.Clone(r))
	}
	return b.Create(ctx, name, list...)
}

// WriteRecords writes a sequence of records as the lines of a log, for a Streamer that collects them first. It ends at the first error.
func WriteRecords(w io.Writer, name string, records iter.Seq2[[]byte, error]) error {
	for r, err := range records {
		if err == nil {
			err = Check(name, true, r)
		}
		if err == nil {
			_, err = w.Write(r)
		}
		if err == nil {
			_, err = w.Write([]byte{'\n'})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
