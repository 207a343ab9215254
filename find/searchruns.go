package find

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Logs of runs are searched as sessions are. The index has their signatures and nothing else of them.

// runTexts gives what search looks at in a record of a run: what was asked, sent, answered and put out.
func runTexts(record []byte, take func(query.Field, string)) {
	body, err := run.Decode(record)
	if err != nil {
		return // what cannot be decoded has no text
	}
	// Keys are left out: messages have the same ones in every record.
	all := func(f query.Field, values ...[]byte) {
		for _, v := range values {
			if v != nil {
				jsonTexts(v, false, 0, nil, func(s string) { take(f, s) })
			}
		}
	}
	some := func(f query.Field, texts ...string) {
		for _, t := range texts {
			if t != "" {
				take(f, t)
			}
		}
	}
	switch b := body.(type) {
	case *run.RunStart:
		some(query.FieldUser, b.Input.Text)
		all(query.FieldUser, b.Input.Parts)
	// A request repeats all that was said so far; whose words these are is said in each message, and not looked at.
	case *run.LLMRequest:
		all(query.FieldOther, b.Input.Messages)
	case *run.LLMResponse:
		all(query.FieldAssistant, b.Output.Messages)
	case *run.ToolOutput:
		some(query.FieldTool, b.Result)
	case *run.AgentEvent:
		all(query.FieldOther, b.Event)
	case *run.RunStatus:
		some(query.FieldOther, b.Message)
	case *run.RunError:
		some(query.FieldOther, b.Error.Name, b.Error.Message, b.Error.Stack)
	case *run.RunEnd:
		some(query.FieldOther, b.Final)
	}
}

// runsKey is how a folder of run logs is called in the catalogue. No source of sessions has such a name.
func runsKey(p runPlace) string { return "runs\x00" + filepath.Clean(p.dir) }

// listRuns finds the logs of runs, and brings their signatures up to date. Sessions were brought up to date by the
// catalogue; runs are here, since only a search needs it.
func (f *finder) listRuns(ctx context.Context) error {
	if f.opt.Labelled {
		return nil // no run has labels
	}
	for _, p := range f.s.runPlaces() {
		if src := f.opt.Source; src != "" && src != p.d.Dialect.Name() && src != p.d.Dialect.Family() && filepath.Clean(src) != filepath.Clean(p.dir) {
			continue
		}
		b, err := f.backend(p.dir)
		if err != nil {
			return err
		}
		if err := f.refreshRuns(ctx, b, p); err != nil {
			return err
		}
	}
	if !f.changed {
		return nil
	}
	return f.s.opt.Index.Commit(context.WithoutCancel(ctx))
}

// refreshRuns compares the logs of one folder with what is known of them, and reads those that changed.
func (f *finder) refreshRuns(ctx context.Context, b backend.Backend, p runPlace) error {
	known := f.s.opt.Index.Catalogue()
	u := index.Update{Source: runsKey(p)}
	names := map[string]bool{}
	var signer index.Signer
	for log, err := range b.List(ctx, "") {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			f.problem(err)
			continue
		case !p.d.Dialect.Layout().Owns(log.Name) || !backend.IsText(log.Name):
			continue
		}
		names[log.Name] = true
		f.runs = append(f.runs, RunRow{Path: filepath.Join(p.dir, filepath.FromSlash(log.Name)), Log: log, place: p})
		l, ok := known.Log(u.Source, log.Name)
		if ok && l.Stamp.Same(log.Generation, log.Size, log.Time.UnixNano()) {
			continue
		}
		signed, err := f.signRun(ctx, b, log.Name, l, &signer)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			// Its row stays: what the index does not know is searched as a whole.
			f.problem(named(f.runs[len(f.runs)-1].Path, err))
			continue
		}
		// At once: the next log takes the signer again.
		f.s.opt.Index.Put(index.Update{Source: u.Source, Put: []index.Log{signed}})
		f.changed = true
	}
	// Of a folder that could not be read all logs look gone, and are signed again later.
	for _, l := range known.Logs(u.Source) {
		if !names[l.Name] {
			u.Remove = append(u.Remove, l.Name)
		}
	}
	if len(u.Remove) > 0 {
		f.changed = true
		f.s.opt.Index.Put(u)
	}
	return nil
}

// signRun reads a log of a run, or what was added to it since it was known. Its chunks are valid until the signer is used
// again. The log is looked at anew, since it may have grown since the list: the stamp must be that of what was read.
func (f *finder) signRun(ctx context.Context, b backend.Backend, name string, known *index.Log, s *index.Signer) (index.Log, error) {
	at, err := b.Stat(ctx, name)
	if err != nil {
		return index.Log{}, err
	}
	l := index.Log{Name: name, Stamp: index.Stamp{
		Generation: at.Generation, Size: at.Size, Nanos: at.Time.UnixNano(), Racy: racy(at.Time, f.s.opt.Clock()),
	}}
	grown, err := grew(ctx, b, at, known)
	if err != nil {
		return l, err
	}
	if grown {
		from := known.Resume().From
		err = sign(ctx, b, at, from, s)
		l.Chunks = s.Finish()
		// A record that was cut off may have become another one: then the chunk begins elsewhere.
		if grown = len(l.Chunks) > 0 && l.Chunks[0].From == from; grown {
			l.Continue(known, known.ChunkCount()-1)
		}
	}
	if !grown && err == nil {
		err = sign(ctx, b, at, 0, s)
		l.Chunks = s.Finish()
	}
	if n := len(l.Chunks); n > 0 {
		l.SetResume(index.Resume{From: l.Chunks[n-1].From}) // every record says all about itself
	}
	return l, err
}

// sign takes the texts of a run from an offset on.
func sign(ctx context.Context, b backend.Backend, at backend.Log, from int64, s *index.Signer) error {
	s.Reset()
	for r, err := range b.Read(ctx, at, from) {
		if err != nil {
			return err
		}
		runTexts(r.Data, func(_ query.Field, text string) { s.Add([]byte(text), r.Offset, r.Offset+int64(len(r.Data))) })
	}
	return nil
}

// run looks into the log of a run, the last record first. A request repeats what those before it said: of all requests of a
// run the last that matches is enough.
func (l *lookup) run(ctx context.Context, t *target) ([]SearchHit, error) {
	row := t.run
	o, ok := l.b.(backend.Opener)
	if !ok {
		return nil, errors.New("the backend gives no random access")
	}
	r, err := o.Open(ctx, row.Log)
	if err != nil {
		if errors.Is(err, backend.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer r.Close()
	spans := t.spans
	if spans == nil {
		// odd, since nobody looked: see index.Chunk.Odd.
		spans = []textSpan{{0, row.Log.Size, true}}
	}
	// Hits stand the last first, so the first request is the one that is kept.
	requested := false
	for _, s := range slices.Backward(spans) {
		data, err := l.read(r, s.from, s.to)
		if err != nil {
			return nil, err
		}
		before := len(l.hits)
		l.q.Scan(data, s.odd, func(from, to int) bool {
			l.runRecord(row, data[from:to], s.from+int64(from))
			return ctx.Err() == nil
		})
		slices.Reverse(l.hits[before:])
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.hits = slices.DeleteFunc(l.hits, func(h SearchHit) bool {
		again := requested && h.Type == string(run.TypeLLMRequest)
		requested = requested || h.Type == string(run.TypeLLMRequest)
		return again
	})
	if len(l.hits) == 0 {
		return nil, nil
	}
	return l.nameRun(ctx, r, row)
}

// runRecord matches one record. The hit has its place for a line until that is counted.
func (l *lookup) runRecord(row *RunRow, record []byte, at int64) {
	l.texts = l.texts[:0]
	runTexts(record, l.take)
	m, ok := l.q.Match(l.texts)
	if !ok {
		return
	}
	body, err := run.Decode(record)
	if err != nil {
		return
	}
	// Line is counted only for hits that stay: see nameRun.
	hit := SearchHit{
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
	l.add(hit, m)
}

// nameRun fills in which run it is, and the lines of hits.
func (l *lookup) nameRun(ctx context.Context, r backend.Reader, row *RunRow) ([]SearchHit, error) {
	var buf peekBuffer
	row.peek(ctx, l.b, &buf)
	// The working directory stands in the header, which is read only where something was found.
	if cwd := l.f.opt.CWD; row.Err != nil || cwd != "" && (row.CWD() == "" || l.f.s.canonical(row.CWD()) != l.f.s.canonical(cwd)) {
		return nil, nil
	}
	// In full: how short it may be is known only to who lists all runs.
	row.Short = row.Header.RunID
	lines, at := 1, int64(0)
	for i := len(l.hits) - 1; i >= 0; i-- {
		place := int64(l.hits[i].Line)
		// Counted from the beginning and once for all hits, which are in order.
		for at < place {
			data, err := l.read(r, at, min(at+1<<20, place))
			if err != nil || len(data) == 0 {
				return nil, errors.Join(err, backend.ErrChanged)
			}
			lines += bytes.Count(data, []byte{'\n'})
			at += int64(len(data))
		}
		l.hits[i].Line = lines
	}
	return l.hits, nil
}
