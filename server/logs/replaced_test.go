package logs_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/server/logs"
)

// swapped is a backend whose log is replaced by a log of another project, and by one of the first project again, before certain calls.
type swapped struct {
	*memory.Backend
	t        *testing.T
	step     int
	at       map[int]bool // the log is replaced in these steps
	herbs    bool
	hidden   map[string]bool // generations of the other project
	secret   string
	reader   bool   // the caller may not write
	violated string // a change of a hidden generation
}

const swappedLog = "m1/omp/log.jsonl"

func (s *swapped) swap() {
	at, err := s.Backend.Stat(s.t.Context(), swappedLog)
	text := `{"herbs":1}`
	if s.herbs = !s.herbs; !s.herbs {
		text = s.secret
	}
	if err == nil {
		at, err = s.Backend.Replace(s.t.Context(), at, []byte(text))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.hidden[at.Generation] = !s.herbs
}

func (s *swapped) tick() {
	if s.at[s.step] {
		s.swap()
	}
	s.step++
}

func (s *swapped) Stat(ctx context.Context, name string) (backend.Log, error) {
	s.tick()
	return s.Backend.Stat(ctx, name)
}

func (s *swapped) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	s.tick()
	return s.Backend.Read(ctx, at, offset)
}

func (s *swapped) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	s.tick()
	return backend.OpenLog(ctx, s.Backend, at)
}

func (s *swapped) OpenNow(ctx context.Context, name string) (backend.Log, backend.Reader, error) {
	s.tick()
	return backend.OpenNow(ctx, s.Backend, name)
}

func (s *swapped) changed(what string, at backend.Log, err error) {
	if err == nil && s.hidden[at.Generation] {
		s.violated = what
	}
}

func (s *swapped) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	s.tick()
	now, err := s.Backend.Append(ctx, at, records...)
	s.changed("append", at, err)
	return now, err
}

func (s *swapped) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	s.tick()
	now, err := s.Backend.Replace(ctx, at, records...)
	s.changed("replace", at, err)
	return now, err
}

func (s *swapped) Remove(ctx context.Context, at backend.Log) error {
	s.tick()
	err := s.Backend.Remove(ctx, at)
	s.changed("remove", at, err)
	return err
}

func (s *swapped) Extend(ctx context.Context, at backend.Log, mark string, from io.Reader) (backend.Log, error) {
	s.tick()
	now, err := s.Backend.Extend(ctx, at, mark, from)
	s.changed("extend", at, err)
	return now, err
}

func (s *swapped) Overwrite(ctx context.Context, at backend.Log, mark string, from io.Reader) (backend.Log, error) {
	s.tick()
	now, err := s.Backend.Overwrite(ctx, at, mark, from)
	s.changed("overwrite", at, err)
	return now, err
}

// A limited caller neither reads nor changes any state of a log that belongs to another project, at whatever moments the log is replaced.
func TestReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	picture := []byte("a picture")
	ref := blob.Sum(picture)
	s := &swapped{Backend: memory.New(), t: t, secret: fmt.Sprintf(`{"roses":%q}`, ref)}
	if _, err := s.Blobs("").Put(t.Context(), picture); err != nil {
		t.Fatal(err)
	}
	allows := herbs(s.Backend)
	server := start(t, logs.Options{Backend: s}, func(ctx context.Context, log backend.Log, write bool, head []byte) error {
		s.tick()
		defer s.tick()
		if write && s.reader {
			return backend.ErrForbidden
		}
		log.Generation = "" // it decides by what the log holds now
		return allows(ctx, log, write, head)
	})
	if _, err := s.Create(t.Context(), swappedLog, []byte(`{"herbs":1}`)); err != nil {
		t.Fatal(err)
	}
	s.herbs = true
	const steps = 9
	for first := range steps {
		for second := first; second < steps; second++ {
			for _, herbs := range []bool{true, false} {
				for _, r := range []struct{ method, path, body string }{
					{"GET", "/logs/stat?name=" + swappedLog, ""},
					{"GET", "/logs/content?name=" + swappedLog, ""},
					{"GET", "/logs/content?AT", ""},
					{"GET", "/logs/content?hold=true&AT", ""},
					{"GET", "/blobs/" + ref.String() + "?log=" + swappedLog, ""},
					{"POST", "/logs/missing?log=" + swappedLog, ref.String() + "\n"},
					{"POST", "/logs/append?AT", "{\"herbs\":2}\n"},
					{"POST", "/logs/extend?AT", "{\"herbs\":2}\n"},
					{"POST", "/logs/replace?AT", "{\"herbs\":2}\n"},
					{"POST", "/logs/overwrite?AT", "{\"herbs\":2}\n"},
					{"POST", "/logs/remove?AT", ""},
				} {
					for next := range 2 { // the generation of the log, or the one that it has after the first step
						s.hidden, s.at, s.step, s.violated, s.reader = map[string]bool{}, nil, 0, "", strings.Contains(r.path, "missing")
						s.herbs = !herbs
						s.swap()
						now, err := s.Backend.Stat(t.Context(), swappedLog)
						if err != nil {
							t.Fatal(err)
						}
						generation, size := now.Generation, now.Size
						if next == 1 {
							var n int
							fmt.Sscan(generation, &n)
							generation, size = fmt.Sprint(n+1), int64(len(s.secret)+1)
							if !herbs {
								size = 12
							}
						}
						at := fmt.Sprintf("name=%s&generation=%s&size=%d", swappedLog, generation, size)
						s.at = map[int]bool{first: true, second: true}
						status, body := ask(t, r.method, server.URL+strings.Replace(r.path, "AT", at, 1), r.body)
						what := fmt.Sprintf("%s %s from %v, replaced in steps %d and %d: %d %s", r.method, r.path, herbs, first, second, status, body)
						for g, hidden := range s.hidden {
							if hidden && status == http.StatusOK && strings.Contains(body, fmt.Sprintf("%q", g)) {
								t.Error(what)
							}
						}
						if status == http.StatusOK && (strings.Contains(body, "roses") || strings.Contains(body, string(picture)) ||
							strings.Contains(r.path, "missing") && !strings.Contains(body, ref.String())) || s.violated != "" {
							t.Error(what, s.violated)
						}
						if _, err := s.Backend.Stat(t.Context(), swappedLog); err != nil { // it was removed
							s.herbs = true
							if _, err := s.Backend.Create(t.Context(), swappedLog, []byte(`{"herbs":1}`)); err != nil {
								t.Fatal(err)
							}
						}
						if t.Failed() {
							return
						}
					}
				}
			}
		}
	}
}
