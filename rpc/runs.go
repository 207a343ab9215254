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

// In startRunParams, header has the members that the client wants in the run's header, besides id, session and time.
type startRunParams struct {
	SessionID session.ID `json:"sessionId" doc:"the id of the session that the run belongs to"`
	dialectParam
	Header json.RawMessage `json:"header" doc:"members of the run's first record"`
}

// recording is a run that is being recorded.
type recording struct {
	Run  string `json:"run"`
	ID   string `json:"id"`
	File string `json:"file"`
}

// startRun starts a run of an open session, of a named one, or of none.
func startRun(c *call, p startRunParams) (recording, error) {
	in, err := c.dialect(p.Dialect)
	if err != nil {
		return recording{}, err
	}
	opt := treeline.RunOptions{Session: p.SessionID, Dialect: in.Dialect, Header: given(p.Header), Write: c.writeRun()}
	if c.open != nil {
		id := c.open.s.ID()
		// A client may give both. If they name different sessions, it has confused them.
		if opt.Session != "" && opt.Session != id {
			return recording{}, badParams(`parameter "sessionId": the session's own id is %q`, id)
		}
		opt.Session = id
	}
	return c.keepRun(c.store.StartRun(c.ctx, opt))
}

// writeRun returns the options for writing runs, which are those for sessions.
func (c *call) writeRun() runs.WriteOptions {
	w := c.opt.Write
	return runs.WriteOptions{Durability: w.Durability, Clock: w.Clock, Random: w.Random}
}

// keepRun gives a recording a handle. Sessions and runs share the counter of handles. A handle is never used again, so a late request
// cannot reach another run.
func (c *call) keepRun(r *treeline.Recording, err error) (recording, error) {
	if err != nil {
		return recording{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	handle := "r" + strconv.Itoa(c.last)
	c.runs[handle] = r
	return recording{Run: handle, ID: r.Header().RunID, File: r.Path()}, nil
}

// recording returns the run with a handle.
func (c *call) recording(handle string) (*treeline.Recording, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.runs[handle]
	if !ok {
		return nil, badParams(`parameter "run": no run %q is being recorded`, handle)
	}
	return r, nil
}

type appendRecordParams struct {
	Run    *string         `json:"run" need:"" doc:"the handle of a run"`
	Record json.RawMessage `json:"record" need:"an object" doc:"a record with a type"`
}

// recorded acknowledges a record. A client that did not set seq needs it for the response to its request.
type recorded struct {
	Type run.Type `json:"type"`
	Seq  *int64   `json:"seq,omitempty"`
}

func appendRecord(c *call, p appendRecordParams) (recorded, error) {
	r, err := c.recording(*p.Run)
	if err != nil {
		return recorded{}, err
	}
	written, err := r.AppendRaw(c.ctx, p.Record)
	if err != nil {
		return recorded{}, refused(err)
	}
	done := recorded{Type: written.Type}
	if written.HasSeq {
		done.Seq = &written.Seq
	}
	return done, nil
}

// refused turns the error of a refused record into that of a parameter: it is the client's mistake, and the run goes on. After the end of
// the run, it stays a failure.
func refused(err error) error {
	if errors.Is(err, run.ErrRefused) && !errors.Is(err, run.ErrEnded) {
		return badParams("%v", err)
	}
	return err
}

type endRunParams struct {
	Run     *string `json:"run" need:"" doc:"the handle of a run"`
	Outcome *string `json:"outcome" doc:"how it ended; may be absent if run.end was appended"`
	Final   string  `json:"final" doc:"the last text of the assistant"`
}

// endRun writes run.end, unless the client has appended it, and closes the log. The handle stays valid only if the outcome is missing.
func endRun(c *call, p endRunParams) (nothing, error) {
	r, err := c.recording(*p.Run)
	if err != nil {
		return nothing{}, err
	}
	if !r.Ended() {
		if p.Outcome == nil {
			return nothing{}, missing("outcome")
		}
		err = r.End(c.ctx, *p.Outcome, p.Final)
	}
	c.mu.Lock()
	delete(c.runs, *p.Run)
	c.mu.Unlock()
	return nothing{}, errors.Join(err, r.Close())
}
