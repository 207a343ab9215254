package find

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find/texts"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Run logs are searched like sessions. The index has their signatures but no summaries.

// Run is a run that was found.
type Run struct {
	place.Location
	Log backend.Log
	run.Summary
	// Short is the shortest prefix of the id that no other run's id has. A search does not fill it in.
	Short string

	source *place.Source
}

// runsKey returns the key of a place of run logs in the catalogue. No source of sessions has such a key.
func runsKey(src *place.Source) string { return "runs\x00" + place.Clean(src.Root.Sessions) }

// listRuns finds the run logs and brings their signatures up to date. Only a search needs them, so refresh leaves them out.
func (s *search) listRuns(ctx context.Context) error {
	if s.opt.Labelled {
		return nil // runs have no labels
	}
	before := s.f.ix.Catalogue()
	for _, p := range s.f.m.RunSources() {
		if !s.runsOf(&p) {
			continue
		}
		if err := s.refreshRuns(ctx, &p); err != nil {
			return err
		}
	}
	if s.changed = s.f.ix.Catalogue() != before; !s.changed {
		return nil
	}
	return s.f.ix.Commit(context.WithoutCancel(ctx))
}

// runsOf reports whether the runs of a source are wanted.
func (s *search) runsOf(p *place.Source) bool {
	want := s.opt.Source
	return want == "" || want == p.Dialect.Name() || want == p.Dialect.Family() || place.Clean(want) == place.Clean(p.Root.Sessions)
}

// refreshRuns compares the logs of one place with what is known of them, and reads those that changed.
func (s *search) refreshRuns(ctx context.Context, p *place.Source) error {
	if p.Err != nil {
		return p.Err
	}
	b, err := s.f.m.Open(p.Root.Sessions)
	if err != nil {
		return err
	}
	key := runsKey(p)
	todo, err := s.f.compare(ctx, b, key, s.f.ix.Catalogue().Logs(key), s.problem, func(log backend.Log) bool {
		if !p.Dialect.Layout().Owns(log.Name) || !backend.Lines(b, log.Name) {
			return false
		}
		l := place.Location{Backend: b, Name: log.Name, Path: p.PathOf(log.Name)}
		s.runs = append(s.runs, Run{Location: l, Log: log, source: p})
		return true
	})
	var signer index.Signer
	for _, j := range todo {
		signed, err := retry(func() (index.Log, error) { return s.f.signRun(ctx, &j, &signer) })
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			s.problem(logtree.Named(p.PathOf(j.log.Name), err))
			s.f.ix.Put(index.Update{Source: key, Remove: []string{j.log.Name}}) // the log is searched as a whole
		default:
			// At once: the next log reuses the signer.
			s.f.ix.Put(index.Update{Source: key, Put: []index.Log{signed}})
		}
	}
	return err
}

// signRun reads a run log, or only what was added to it since it was indexed. Its chunks are valid until the signer is reused.
func (f *Finder) signRun(ctx context.Context, j *job, s *index.Signer) (index.Log, error) {
	b, known := j.b, j.known
	l, at, err := f.stamp(ctx, b, j.log.Name)
	if err != nil {
		return l, err
	}
	resume, err := continues(ctx, b, at, known)
	if err != nil {
		return l, err
	}
	if resume {
		from := known.Resume().From
		err = sign(ctx, b, at, from, s)
		l.Chunks = s.Finish()
		// If a torn record has become another one, the chunk begins elsewhere.
		if resume = len(l.Chunks) > 0 && l.Chunks[0].From == from; resume {
			l.Continue(known, known.ChunkCount()-1)
		}
	}
	if !resume && err == nil {
		err = sign(ctx, b, at, 0, s)
		l.Chunks = s.Finish()
	}
	if n := len(l.Chunks); n > 0 {
		l.SetResume(index.Resume{From: l.Chunks[n-1].From}) // no record depends on those before it
	}
	return l, err
}

// sign signs the texts of a run from an offset on.
func sign(ctx context.Context, b backend.Backend, at backend.Log, from int64, s *index.Signer) error {
	s.Reset()
	for r, err := range b.Read(ctx, at, from) {
		if err != nil {
			return err
		}
		texts.Run(r.Data, func(_ query.Field, text string) { s.Add([]byte(text), r.Offset, r.Offset+int64(len(r.Data))) })
	}
	return nil
}

// searchRun returns the hits in a run log, the last one first. A request repeats the ones before it: of all requests that match, only the
// last is a hit.
func (m *matcher) searchRun(ctx context.Context, t *target) ([]Hit, error) {
	r, err := backend.OpenLog(ctx, t.run.Backend, t.run.Log)
	if err != nil {
		if errors.Is(err, backend.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer r.Close()
	spans := t.spans
	if spans == nil {
		spans = []span{{0, t.run.Log.Size, true}} // whether the log is odd is unknown
	}
	for _, s := range slices.Backward(spans) {
		data, err := m.read(r, s.from, s.to)
		if err != nil {
			return nil, err
		}
		before := len(m.hits)
		m.q.Scan(data, s.odd, func(from, to int) bool {
			m.runRecord(t.run, data[from:to], s.from+int64(from))
			return ctx.Err() == nil
		})
		slices.Reverse(m.hits[before:])
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	requested := false
	m.hits = slices.DeleteFunc(m.hits, func(h Hit) bool {
		request := h.Type == string(run.TypeLLMRequest)
		again := request && requested
		requested = requested || request
		return again
	})
	if len(m.hits) == 0 {
		return nil, nil
	}
	return m.describeRun(ctx, r, t.run)
}

// runRecord matches one record. The Line of its hit is the record's offset until describeRun counts the lines.
func (m *matcher) runRecord(row *Run, record []byte, at int64) {
	m.texts, record = m.texts[:0], m.rewritten(record)
	texts.Run(record, m.take)
	found, ok := m.q.Match(m.texts)
	if !ok {
		return
	}
	body, err := run.Decode(record)
	if err != nil {
		return
	}
	hit := Hit{
		Run: row, Type: string(body.Type()), OnPath: true, Line: int(at), Time: session.Time{Text: string(rawjson.Get(record, "ts"))},
	}
	switch body.(type) {
	case *run.RunStart:
		hit.Role = session.RoleUser
	case *run.LLMResponse:
		hit.Role = session.RoleAssistant
	case *run.ToolOutput:
		hit.Role = session.RoleTool
	}
	m.add(hit, found)
}

// describeRun fills in the summary of the run and the lines of hits. It returns nothing for a run of another working directory: the
// directory is in the header, which is read only if something was found.
func (m *matcher) describeRun(ctx context.Context, r backend.Reader, row *Run) ([]Hit, error) {
	peek := m.s.f.m.NewPeeker()
	var err error
	row.Summary, err = run.Peek(row.Log.Size, func(head, tail int64) ([]byte, []byte, error) {
		return peek.Ends(ctx, row.Backend, row.Log, head, tail)
	})
	cwd := row.CWD()
	if may := m.s.opt.Project; may != nil && !may(cwd) {
		return nil, nil
	}
	if want := m.s.opt.CWD; err != nil || want != "" && (cwd == "" || !m.s.f.m.SameDir(cwd, want)) {
		return nil, nil
	}
	lines, at := 1, int64(0)
	for i := len(m.hits) - 1; i >= 0; i-- {
		offset := int64(m.hits[i].Line)
		// Hits are in order, so the lines are counted once for all of them.
		for at < offset {
			data, err := m.read(r, at, min(at+1<<20, offset))
			if err != nil {
				return nil, err
			}
			lines += bytes.Count(data, []byte{'\n'})
			at += int64(len(data))
		}
		m.hits[i].Line = lines
	}
	return m.hits, nil
}
