package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Errors of a Recorder, for errors.Is.
var (
	// ErrEnded: the run has ended; nothing follows run.end.
	ErrEnded = errors.New("the run has ended")
	// ErrRefused: the record is not valid. Nothing was written, and other records may follow.
	ErrRefused = errors.New("record refused")
	// ErrNewer: the log has a schema_version that is never written.
	ErrNewer = errors.New("the run log is of another schema_version")
)

// RecorderOptions is what a Recorder needs. All fields are required.
type RecorderOptions struct {
	// Append stores a record after the earlier ones. When it returns, the record is as durable as the function promises. If it
	// is certain that nothing was written, it returns an *UnwrittenError. The context is that of Recorder.Append or AppendRaw. The recorder's lock is held
	// during the call, so that the order of calls is the order of the log: Append must not call the recorder.
	Append func(ctx context.Context, record []byte) error
	// Clock gives the time of records without one.
	Clock func() time.Time
}

// UnwrittenError is an error of an Append that wrote nothing: other records may follow.
type UnwrittenError struct{ Err error }

// Error implements error.
func (e *UnwrittenError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *UnwrittenError) Unwrap() error { return e.Err }

// Recorder writes the records of one run in the order in which its methods are called, from any goroutine. A record is
// encoded during the call: later changes to the caller's value have no effect. A failed write is latched: every later call
// returns its error, because the end of the log is unknown. An *UnwrittenError is not latched. After an error, ContinueRecorder
// continues with the log as it was read again.
type Recorder struct {
	header Header
	opt    RecorderOptions

	mu    sync.Mutex
	open  []int64 // requests without a response
	last  int64   // the seq of the last request
	asked bool    // there was a request
	ended bool
	err   error
}

// NewRecorder records a run whose header is already written.
func NewRecorder(h Header, opt RecorderOptions) *Recorder {
	return &Recorder{header: h, opt: opt}
}

// ContinueRecorder continues a run after the last record of the log.
func ContinueRecorder(l *Log, opt RecorderOptions) (*Recorder, error) {
	if l.Newer {
		return nil, fmt.Errorf("%w: %s", ErrNewer, version(l.HeaderRaw))
	}
	r := NewRecorder(l.Header, opt)
	// Only what the log has counts: a request whose response was lost in a crash is still open and may still be answered.
	for _, rec := range l.records {
		r.note(rec.Type, rec.Seq)
	}
	return r, nil
}

// Header is the header of the run.
func (r *Recorder) Header() Header { return r.header }

// Ended reports whether run.end was written.
func (r *Recorder) Ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// Written describes a record that was written.
type Written struct {
	Type Type
	// Seq is the number of a request, response or event; HasSeq is false for any other record.
	Seq    int64
	HasSeq bool
}

// Append writes a record. The id of the run, the time and the seq of a request or response may be left out. The body is
// not changed.
func (r *Recorder) Append(ctx context.Context, b Body) (Written, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The body is encoded now: a queue that encodes later would write the caller's lists as they have become by then (see Late).
	b, err := r.fill(b)
	if err != nil {
		return Written{}, err
	}
	record, err := Encode(b)
	if err != nil {
		return Written{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return r.append(ctx, record)
}

// AppendRaw writes a record that the caller made. Only white space changes, and what was left out is added: the id of the
// run, the time, and the seq of a request or response.
func (r *Recorder) AppendRaw(ctx context.Context, record []byte) (Written, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !rawjson.IsObject(record) || !rawjson.Valid(record) {
		return Written{}, refuse("a record must be a JSON object")
	}
	record = slices.Clone(rawjson.Compact(record))
	typ := Type(rawjson.Str(record, "type"))
	if rawjson.IsNull(rawjson.Get(record, "run_id")) {
		record = rawjson.Set(record, "run_id", rawjson.Quote(r.header.RunID))
	}
	if rawjson.IsNull(rawjson.Get(record, "ts")) {
		record = rawjson.Set(record, "ts", rawjson.Quote(r.now()))
	}
	// An event without a seq is refused by check: only the agent knows the order in which the user saw events.
	if (typ == TypeLLMRequest || typ == TypeLLMResponse) && rawjson.IsNull(rawjson.Get(record, "seq")) {
		seq, err := r.last+1, error(nil)
		if typ == TypeLLMResponse {
			seq, err = r.onlyOpen()
		}
		if err != nil {
			return Written{}, err
		}
		record = rawjson.Set(record, "seq", fmt.Append(nil, seq))
	}
	return r.append(ctx, rawjson.EscapeBreaks(record))
}

// now spells the time with milliseconds and Z, like JavaScript's toISOString.
func (r *Recorder) now() string { return r.opt.Clock().UTC().Format("2006-01-02T15:04:05.000Z") }

// End writes run.end.
func (r *Recorder) End(ctx context.Context, outcome, final string) error {
	_, err := r.Append(ctx, &RunEnd{Outcome: outcome, Final: final})
	return err
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

// fill returns a copy of the body in which missing values are filled in.
func (r *Recorder) fill(b Body) (_ Body, err error) {
	value := reflect.New(reflect.TypeOf(b).Elem())
	value.Elem().Set(reflect.ValueOf(b).Elem())
	b = value.Interface().(Body)
	switch c := b.(type) {
	case *LLMRequest:
		c.Seq = cmp.Or(c.Seq, r.last+1)
	case *LLMResponse:
		if c.Seq == 0 {
			c.Seq, err = r.onlyOpen()
		}
	case *RunStart:
		c.SessionID = cmp.Or(c.SessionID, r.header.SessionID)
	}
	e := b.envelope()
	e.RunID = cmp.Or(e.RunID, r.header.RunID)
	if e.Time == "" {
		e.Time = r.now()
	}
	return b, err
}

// onlyOpen returns the request that a response without a seq must belong to.
func (r *Recorder) onlyOpen() (int64, error) {
	if len(r.open) != 1 {
		return 0, refuse("%s without seq, and %d requests wait for one", TypeLLMResponse, len(r.open))
	}
	return r.open[0], nil
}

// append checks a record and passes it on. The state changes only after the record was stored.
func (r *Recorder) append(ctx context.Context, record []byte) (Written, error) {
	if r.err != nil {
		return Written{}, r.err
	}
	w, err := r.check(record)
	if err != nil {
		return Written{}, err
	}
	if err := r.opt.Append(ctx, record); err != nil {
		if unwritten := (*UnwrittenError)(nil); !errors.As(err, &unwritten) {
			r.err = err
		}
		return Written{}, err
	}
	r.note(w.Type, w.Seq)
	return w, nil
}

// note keeps track of requests, responses and the end. Several requests may be open and be answered in any order: agents call
// models in parallel.
func (r *Recorder) note(t Type, seq int64) {
	switch t {
	case TypeLLMRequest:
		r.open = append(r.open, seq)
		r.last, r.asked = max(r.last, seq), true
	case TypeLLMResponse:
		if i := slices.Index(r.open, seq); i >= 0 {
			r.open = slices.Delete(r.open, i, i+1)
		}
	case TypeRunEnd:
		r.ended = true
	}
}

// check returns the reason why a record cannot be written. It checks the record, not the body, so that Append and AppendRaw refuse
// the same records.
func (r *Recorder) check(record []byte) (Written, error) {
	var t rawjson.Text
	var s Scanned
	t.Reset(record)
	if _, err := s.Scan(&t, 0); err != nil {
		return Written{}, refuse("%v", err)
	}
	w := Written{Type: Type(s.Type)}
	w.Seq, w.HasSeq = integer(s.Seq)
	// ErrEnded is wrapped as well: no other record will be accepted.
	if r.ended {
		return w, fmt.Errorf("%w: %w", ErrRefused, ErrEnded)
	}
	if id := string(rawjson.Inside(s.RunID)); id != r.header.RunID {
		return w, refuse("it is of run %.60q, not of %s", id, r.header.RunID)
	}
	if err := required(w, record); err != nil {
		return w, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	switch w.Type {
	case TypeLLMRequest:
		if r.asked && w.Seq <= r.last {
			return w, refuse("%s with seq %d after that with %d", w.Type, w.Seq, r.last)
		}
	case TypeLLMResponse:
		if !slices.Contains(r.open, w.Seq) {
			return w, refuse("%s with seq %d, which no open request has", w.Type, w.Seq)
		}
	}
	return w, nil
}

// need is a member that a record must have, and what it must be.
type need struct{ pointer, what string }

// kinds are the checks of what a member must be.
var kinds = map[string]func([]byte) bool{
	"a string":   rawjson.IsString,
	"an object":  rawjson.IsObject,
	"an array":   rawjson.IsArray,
	"a number":   func(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0]-'0' <= 9) },
	"an integer": func(v []byte) bool { _, ok := integer(v); return ok },
}

// needs are the members that the format's document requires, without those that Append and AppendRaw fill in. They are
// checked when a record is written, not when one is read.
var needs = map[Type][]need{
	TypeRunStart:    {{"/input", "an object"}, {"/input/type", "a string"}},
	TypeRunContext:  {{"/context_left_percent", "a number"}},
	TypeAgentEvent:  {{"/seq", "an integer"}, {"/event", "an object"}, {"/event/type", "a string"}},
	TypeToolOutput:  {{"/tool", "a string"}, {"/tool_call_id", "a string"}, {"/result_raw", "a string"}},
	TypeLLMRequest:  {{"/seq", "an integer"}, {"/input/messages", "an array"}},
	TypeLLMResponse: {{"/seq", "an integer"}, {"/output/messages", "an array"}},
	TypeRunStatus:   {{"/status", "a string"}},
	TypeRunError:    {{"/error/name", "a string"}, {"/error/message", "a string"}},
	TypeRunEnd:      {{"/outcome", "a string"}},
}

// required says what a record lacks. Errors name members as the document does, with dots.
func required(w Written, record []byte) error {
	switch {
	case w.Type == "":
		return errors.New("it has no type")
	case w.Type == TypeHeader:
		return errors.New("the header is written once, before all other records")
	case !w.Type.Known() && !w.Type.Extension():
		return fmt.Errorf("type %.60q is not part of the format; name your own types x.<org>.<name>", w.Type)
	}
	ts := rawjson.Str(record, "ts")
	if _, err := time.Parse(time.RFC3339Nano, ts); err != nil {
		return fmt.Errorf("ts %.60q is not a time like 2026-02-03T12:34:56.789Z", ts)
	}
	for _, n := range needs[w.Type] {
		if !kinds[n.what](rawjson.At(record, n.pointer)) {
			return fmt.Errorf("%s: %s must be %s", w.Type, strings.ReplaceAll(n.pointer[1:], "/", "."), n.what)
		}
	}
	// Extensions put their own members into meta.
	if meta := rawjson.Get(record, "meta"); meta != nil && !rawjson.IsObject(meta) {
		return fmt.Errorf("%s: meta must be an object", w.Type)
	}
	return nil
}
