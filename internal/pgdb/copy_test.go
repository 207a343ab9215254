package pgdb

import (
	"errors"
	"io"
	"testing"
)

// The source of a copy is not read any more after the copy has failed, even if the driver reads once more.
func TestCopyClosed(t *testing.T) {
	failed := errors.New("no more rows")
	for _, want := range []error{nil, failed} {
		s := &copyStream{rows: brokenRows{want}}
		if _, err := s.Read(make([]byte, 10)); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
		if err := s.close(); !errors.Is(err, want) {
			t.Errorf("closed with %v, want %v", err, want)
		}
		if n, err := s.Read(make([]byte, 10)); n != 0 || err != io.EOF {
			t.Errorf("%d bytes, %v after the end", n, err)
		}
	}
}

// brokenRows has no row, and fails with err.
type brokenRows struct{ err error }

func (brokenRows) Next() bool             { return false }
func (brokenRows) Values() ([]any, error) { return nil, nil }
func (r brokenRows) Err() error           { return r.err }
