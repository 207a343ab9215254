package rpc

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
)

// Runs are recorded beside sessions. They have handles of their own.

// startRunParams: header has what the client wants in the run's header besides the id, session and time, which are
// ours to make.
type startRunParams struct {
	SessionID *string         `json:"sessionId"`
	Dialect   *string         `json:"dialect"`
	Header    json.RawMessage `json:"header"`
}

// startRun begins a run of an open session, of one that is named, or of none.
func startRun(c *call, p startRunParams) ([]byte, error) {
	opt := treeline.RunOptions{Session: session.ID(or(p.SessionID, "")), Header: given(p.Header), Write: runs.WriteOptions{Durability: c.opt.Write.Durability, Clock: c.opt.Write.Clock, Random: c.opt.Write.Random}}
	if c.open != nil {
		id := c.open.s.ID()
		// Both may be given, and a client that names another session than the one it has open has confused two:
		// better to say so than to record the run of the wrong one.
		if opt.Session != "" && opt.Session != id {
			return nil, badParams(`parameter "sessionId": the session's own id is %q`, id)
		}
		opt.Session = id
	}
	if name := or(p.Dialect, ""); name != "" {
		d, err := c.store.Dialect(name)
		if err != nil {
			return nil, err
		}
		opt.Dialect = d
	}
	r, err := c.store.StartRun(c.ctx, opt)
	if err != nil {
		return nil, err
	}
	// Sessions and runs count their handles together: a handle that is given back is never used again, so a late
	// request cannot reach another one's run by accident.
	c.mu.Lock()
	c.last++
	handle := "r" + strconv.Itoa(c.last)
	// The map is made late because most clients record no runs.
	if c.runs == nil {
		c.runs = map[string]*treeline.Recording{}
	}
	c.runs[handle] = r
	c.mu.Unlock()
	text := append([]byte(`{"run":`), quote(handle)...)
	text = append(append(text, `,"id":`...), quote(r.Header().RunID)...)
	text = append(append(text, `,"file":`...), quote(r.Path())...)
	return append(text, '}'), nil
}

// recording gives the run with that handle.
func (c *call) recording(handle *string) (*treeline.Recording, error) {
	var w wanted
	name := need(&w, "run", handle)
	if w.err != nil {
		return nil, w.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.runs[name]
	if !ok {
		return nil, badParams("parameter %q: no run %q is being recorded", "run", name)
	}
	return r, nil
}

type appendRecordParams struct {
	Run    *string         `json:"run"`
	Record json.RawMessage `json:"record"`
}

// appendRecord answers with what the record became: a seq that was left out was counted by the recorder, and the
// client needs it to match the response with its request.
func appendRecord(c *call, p appendRecordParams) ([]byte, error) {
	r, err := c.recording(p.Run)
	if err != nil {
		return nil, err
	}
	var w wanted
	record := w.needJSON("record", p.Record, "{", "an object")
	if w.err != nil {
		return nil, w.err
	}
	written, err := r.AppendRaw(c.ctx, record)
	if err != nil {
		return nil, refused(err)
	}
	text := append([]byte(`{"type":`), quote(string(written.Type))...)
	if written.HasSeq {
		text = strconv.AppendInt(append(text, `,"seq":`...), written.Seq, 10)
	}
	return append(text, '}'), nil
}

// refused is the answer for a record that does not fit.
// It is the client's mistake and the run goes on, so it is a parameter's error. That the run has ended is no
// mistake of this record: it keeps the code of a failure.
func refused(err error) error {
	if errors.Is(err, run.ErrRefused) && !errors.Is(err, run.ErrEnded) {
		return badParams("%v", err)
	}
	return err
}

type endRunParams struct {
	Run     *string `json:"run"`
	Outcome *string `json:"outcome"`
	Final   *string `json:"final"`
}

// endRun writes run.end, unless a record said it already, and closes the log. The handle is gone unless the outcome is
// missing.
func endRun(c *call, p endRunParams) ([]byte, error) {
	r, err := c.recording(p.Run)
	if err != nil {
		return nil, err
	}
	if !r.Ended() {
		var w wanted
		outcome := need(&w, "outcome", p.Outcome)
		if w.err != nil {
			return nil, w.err
		}
		err = r.End(c.ctx, outcome, or(p.Final, ""))
	}
	// Also where End failed: the log is closed below, so the handle would be good for nothing.
	c.mu.Lock()
	delete(c.runs, *p.Run)
	c.mu.Unlock()
	return null, errors.Join(err, r.Close())
}
