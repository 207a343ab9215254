// Package backendtest tests that a backend keeps the contract of package backend. The test of a new backend calls Run with
// a function that makes a place to keep logs in; see the tests of memory and file.
//
// The suite takes places, not backends, because half of the contract is about what remains after Close. The optional
// interfaces of a backend are tested if it has them.
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
)

// Place is an empty place to keep logs in.
type Place struct {
	// Open opens the place, usually through a driver. The suite closes what it opened, and opens it again.
	Open func() (backend.Backend, error)
	// Put sets the bytes of a log without the backend, as another program would. If it is nil, the tests that need it
	// are left out.
	Put func(name string, content []byte) error
	// ReadOnly says that the backends of this place do not write. Put fills it, and mutations must fail.
	ReadOnly bool
}

// Run runs the suite. The tests run in parallel, each in a new place.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for _, tc := range []struct {
		name        string // of the promise in the contract
		run         func(t *testing.T, p *prober)
		writes, put bool // the test needs to write, or Put
	}{
		{"ReadRecords", readRecords, false, false},
		{"ReadFromOffset", readFromOffset, false, false},
		{"ReadWhole", readWhole, false, false},
		{"ReadOddBytes", readOddBytes, false, true},
		{"ReadStops", readStops, false, false},
		{"ReadChanged", readChanged, false, true},
		{"ReadAtRandom", readAtRandom, false, false},
		{"Lines", lines, false, false},
		{"OpenNow", openNow, false, false},
		{"ExactBytes", exactBytes, false, true},
		{"Ends", ends, false, true},
		{"Glimpse", glimpse, false, true},
		{"HugeRecord", hugeRecord, false, false},
		{"ListOrder", listOrder, false, false},
		{"NotThere", notThere, false, false},
		{"BadNames", badNames, false, false},
		{"CloseTwice", closeTwice, false, false},
		{"ReadOnly", readOnly, false, true},
		{"Create", create, true, false},
		{"CreateFrom", createFrom, true, false},
		{"Append", appendRecords, true, false},
		{"AppendToOddEnds", appendToOddEnds, true, true},
		{"Conflict", conflict, true, false},
		{"ConflictWithOthers", conflictWithOthers, true, true},
		{"Replace", replace, true, false},
		{"Remove", remove, true, false},
		{"BadRecords", badRecords, true, false},
		{"Reopen", reopen, true, false},
		{"Cancel", cancelled, true, false},
		{"CancelAppend", cancelledAppend, true, false},
		{"ReadWhileWriting", readWhileWriting, true, false},
		{"Race", race, true, false},
		{"History", histories, true, false},
		{"Watch", watchTells, true, false},
		{"WatchOthers", watchTellsOfOthers, false, true},
		{"WatchEnds", watchEnds, true, false},
		{"Renew", renew, true, false},
		{"RenewChanged", renewChanged, false, true},
		{"Extend", extend, true, false},
		{"Overwrite", overwrite, true, false},
		{"MirrorGrows", mirrorGrows, true, false},
		{"MirrorRefuses", mirrorRefuses, false, false},
		{"Marks", marks, true, false},
		{"Folders", folders, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := &prober{T: t, place: place(t), ctx: t.Context()}
			if tc.writes && p.place.ReadOnly || tc.put && p.place.Put == nil {
				return // not a skip: the contract promises nothing here
			}
			p.b = p.open()
			t.Cleanup(func() { _ = p.b.Close() })
			tc.run(t, p)
		})
	}
}

// prober is a test with a place and a backend, and the calls that must not fail.
type prober struct {
	*testing.T
	place Place
	b     backend.Backend
	ctx   context.Context
}

func (p *prober) open() backend.Backend {
	p.Helper()
	b, err := p.place.Open()
	if err != nil {
		p.Fatal(err)
	}
	return b
}

// again closes the backend and opens the place once more.
func (p *prober) again() {
	p.Helper()
	if err := p.b.Close(); err != nil {
		p.Fatal(err)
	}
	p.b = p.open()
}

// fill makes a log, by Create, or by Put if the backend cannot write.
func (p *prober) fill(name string, records ...string) backend.Log {
	p.Helper()
	if !p.place.ReadOnly {
		own := data(records)
		at, err := p.b.Create(p.ctx, name, own...)
		if err != nil {
			p.Fatal(err)
		}
		scribble(own)
		return at
	}
	content, err := backend.Encode(nil, name, backend.Lines(p.b, name), data(records)...)
	if err != nil {
		p.Fatal(err)
	}
	return p.put(name, string(content))
}

// put makes a log of any bytes without the backend, and returns what Stat says of it.
func (p *prober) put(name, content string) backend.Log {
	p.Helper()
	if err := p.place.Put(name, []byte(content)); err != nil {
		p.Fatal(err)
	}
	return p.stat(name)
}

// stat calls Stat for a log that must exist.
func (p *prober) stat(name string) backend.Log {
	p.Helper()
	at, err := p.b.Stat(p.ctx, name)
	if err != nil {
		p.Fatal(err)
	}
	if at.Name != name || at.Generation == "" || at.Time.IsZero() {
		p.Fatalf("incomplete: %+v", at)
	}
	return at
}

// list returns what List says.
func (p *prober) list(prefix string) (logs []backend.Log) {
	p.Helper()
	for at, err := range p.b.List(p.ctx, prefix) {
		if err != nil {
			p.Fatal(err)
		}
		logs = append(logs, at)
	}
	return logs
}

// append is an Append that must succeed.
func (p *prober) append(at backend.Log, records ...string) backend.Log {
	p.Helper()
	own := data(records)
	next, err := p.b.Append(p.ctx, at, own...)
	if err != nil {
		p.Fatal(err)
	}
	scribble(own)
	return next
}

// scribble overwrites records that were passed to a backend. They are the caller's again, and the log must not change.
func scribble(records [][]byte) {
	for _, r := range records {
		for i := range r {
			r[i] = '!'
		}
	}
}

// replace is a Replace that must succeed.
func (p *prober) replace(at backend.Log, records ...string) backend.Log {
	p.Helper()
	own := data(records)
	next, err := p.b.Replace(p.ctx, at, own...)
	if err != nil {
		p.Fatal(err)
	}
	scribble(own)
	return next
}

// remove is a Remove that must succeed.
func (p *prober) remove(at backend.Log) {
	p.Helper()
	if err := p.b.Remove(p.ctx, at); err != nil {
		p.Fatal(err)
	}
}

// refuses fails the test unless every mutation of a log that the caller saw fails with this error, which names the log.
func (p *prober) refuses(at backend.Log, want error, name string) {
	p.Helper()
	p.is(second(p.b.Append(p.ctx, at, []byte("x"))), want, name)
	p.is(second(p.b.Replace(p.ctx, at, []byte("x"))), want, name)
	p.is(p.b.Remove(p.ctx, at), want, name)
}

// read returns the records as text, with "…" after a torn one.
func (p *prober) read(at backend.Log, offset int64) []string {
	p.Helper()
	got, err := readAll(p.ctx, p.b, at, offset)
	if err != nil {
		p.Fatal(err)
	}
	return got
}

// readAll reads a log and checks that the records lie end to end, without a gap, up to the size of the log.
func readAll(ctx context.Context, b backend.Backend, at backend.Log, offset int64) (got []string, err error) {
	for r, err := range b.Read(ctx, at, offset) {
		if err != nil {
			return got, err
		}
		if r.Offset != offset || r.End < r.Offset+int64(len(r.Data)) || r.End > at.Size {
			return got, fmt.Errorf("record %d is at [%d,%d), expected to begin at %d", len(got), r.Offset, r.End, offset)
		}
		offset = r.End
		text := string(r.Data)
		if r.Torn {
			text += "…"
		}
		got = append(got, text)
		// The bytes belong to the caller until the next step, so it may write after them.
		if len(r.Data) < 1<<20 {
			_ = append(r.Data, "scribble"...)
		}
	}
	if offset != at.Size {
		return got, fmt.Errorf("the records end at %d, the log at %d", offset, at.Size)
	}
	return got, nil
}

// holds fails the test unless the log holds these records now.
func (p *prober) holds(name string, want ...string) {
	p.Helper()
	p.equal(p.read(p.stat(name), 0), want)
}

func (p *prober) equal(got, want []string) {
	p.Helper()
	if !slices.Equal(got, want) {
		p.Fatalf("%d records %.200q, want %d %.200q", len(got), got, len(want), want)
	}
}

// is fails the test unless err is the one expected and names the log.
func (p *prober) is(err, want error, name string) {
	p.Helper()
	if !errors.Is(err, want) {
		p.Fatalf("error is %v, want %v", err, want)
	}
	if name != "" && !strings.Contains(err.Error(), name) {
		p.Errorf("error %q does not name the log %s", err, name)
	}
}

func data(records []string) [][]byte {
	out := make([][]byte, len(records))
	for i, r := range records {
		out[i] = []byte(r)
	}
	return out
}
