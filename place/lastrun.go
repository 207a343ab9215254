package place

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// lastRuns finds the working directories of sessions that do not name theirs: in the logs of their runs. Run logs are listed at the first
// question; all of them are read only for a session that names none of its runs. Not safe for concurrent use.
type lastRuns struct {
	m      *Machine
	peeker *Peeker
	// logs maps each family of sessions to its run logs.
	logs map[string]*runLogs
}

// runLogs are the logs of an agent's runs.
type runLogs struct {
	byID map[string]Location
	// bySession maps each session to the working directory of its last run; nil until it is needed.
	bySession map[session.ID]string
}

func (m *Machine) lastRuns() *lastRuns {
	return &lastRuns{m: m, peeker: &Peeker{m: m}, logs: map[string]*runLogs{}}
}

// cwd returns the working directory of the last run of a session, "" if unknown. header returns the session's header, and is called only if
// there are runs.
func (r *lastRuns) cwd(ctx context.Context, d dialect.Dialect, id session.ID, header func() []byte) string {
	runner, ok := d.(dialect.Runner)
	if !ok {
		return ""
	}
	logs := r.logs[d.Family()]
	if logs == nil {
		logs = r.list(ctx, d)
		r.logs[d.Family()] = logs
	}
	if len(logs.byID) == 0 {
		return ""
	}
	if at, ok := logs.byID[runner.LastRun(header())]; ok {
		if cwd, _, _ := runner.RunDir(r.header(ctx, at)); cwd != "" {
			return cwd
		}
	}
	if logs.bySession == nil {
		logs.bySession = r.read(ctx, runner, logs)
	}
	return logs.bySession[id]
}

// list finds the logs of the runs of an agent's sessions by the ids in their names.
func (r *lastRuns) list(ctx context.Context, d dialect.Dialect) *runLogs {
	logs := &runLogs{byID: map[string]Location{}}
	for _, src := range r.m.RunSources() {
		b, err := r.m.Open(src.Root.Sessions)
		if err != nil || src.Err != nil || Sessions(src.Dialect).Family() != d.Family() {
			continue
		}
		for log, err := range b.List(ctx, "") {
			if err == nil && src.Owns(log.Name) {
				logs.byID[strings.TrimSuffix(path.Base(log.Name), path.Ext(log.Name))] = Location{b, log.Name, src.PathOf(log.Name)}
			}
		}
	}
	return logs
}

// read returns the directory of the last run of each session.
func (r *lastRuns) read(ctx context.Context, runner dialect.Runner, logs *runLogs) map[session.ID]string {
	last, dirs := map[session.ID]session.Time{}, map[session.ID]string{}
	for _, l := range logs.byID {
		cwd, of, began := runner.RunDir(r.header(ctx, l))
		if of == "" || cwd == "" {
			continue
		}
		was, _ := last[of].Time() // the zero time if there is none
		if at, _ := began.Time(); dirs[of] == "" || at.After(was) {
			last[of], dirs[of] = began, cwd
		}
	}
	return dirs
}

// header returns the first record of a log, nil if there is none in its first megabyte.
func (r *lastRuns) header(ctx context.Context, l Location) []byte {
	at, err := l.Backend.Stat(ctx, l.Name)
	for size := int64(endSize); err == nil; size *= 16 {
		var head []byte
		head, _, err = r.peeker.Ends(ctx, l.Backend, at, size, 0)
		line, _, whole := bytes.Cut(bytes.TrimLeft(dialect.TrimBOM(head), " \t\r\n"), []byte{'\n'})
		switch {
		case err == nil && (whole || size >= at.Size):
			return slices.Clone(line)
		case size >= endMost:
			return nil
		}
	}
	return nil
}
