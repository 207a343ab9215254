package demo

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/started"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// writer writes stories one after the other.
type writer struct {
	store *treeline.Store
	now   time.Time
	told  map[string]*told
	// databases are the paths of the databases in which agents keep their sessions.
	databases map[string]string
}

// told has what later stories may refer to.
type told struct {
	path  string
	id    session.ID
	calls []string
	marks map[string]session.EntryID
	end   time.Time
}

// play is a story that is being written.
type play struct {
	*told
	store    *treeline.Store
	story    *story
	session  *store.Session
	joined   bool // the agent keeps results in the message with their calls
	random   io.Reader
	clock    time.Time
	last     session.EntryID
	provider string
	model    string
	ledger   ledger
	record   *recording // nil if no run is recorded

	parts   []session.Part // parts of the answer that is being made
	results []session.ToolResult
	took    []time.Duration
}

// tell writes a story. seed makes its ids different from those of other stories.
func (w *writer) tell(ctx context.Context, name string, st *story, seed byte) (err error) {
	p := &play{
		store: w.store,
		told:  &told{marks: map[string]session.EntryID{}}, story: st, clock: st.begins(w.now), random: rand.NewChaCha8([32]byte{'d', 'e', 'm', 'o', seed}),
	}
	p.provider, p.model, _ = strings.Cut(st.model, "/")
	p.ledger.model = p.model
	if err := p.begin(ctx, w); err != nil {
		return err
	}
	w.told[name] = p.told
	err = p.steps(ctx)
	p.path, p.end = p.session.Path(), p.clock
	if err = errors.Join(err, p.session.Close()); err != nil {
		return err
	}
	if err := p.record.close(ctx); err != nil {
		return err
	}
	return p.leave(w.databases[st.agent])
}

// begin creates the session, as a fork or a sub-agent of another one if the story says so.
func (p *play) begin(ctx context.Context, wr *writer) error {
	d, err := wr.store.Dialect(p.story.agent)
	if err != nil {
		return err
	}
	opt := store.CreateOptions{CWD: p.story.cwd, Dialect: d, Title: p.story.title, Write: store.WriteOptions{
		Random: p.random, Clock: func() time.Time { return p.clock }, Durability: store.DurabilityNone, Force: true,
	}}
	if r, ok := d.(dialect.Runs); ok {
		d = r.Sessions()
	}
	if w, ok := dialect.AsWriter(d); ok {
		if w.Habits().Nameless {
			opt.Title = "" // the story's title is for readers of the story
		}
		if opt.ID, err = p.sameID(w); err != nil {
			return err
		}
	}
	switch {
	case p.story.fork != "":
		from := wr.told[p.story.fork]
		if from == nil {
			return fmt.Errorf("no story %s comes before its fork", p.story.fork)
		}
		p.marks = from.marks
		opt.Title = ""
		if p.session, err = wr.store.ForkFrom(ctx, from.path, opt); err == nil {
			err = p.session.Rename(ctx, p.story.title)
		}
	case p.story.child != "":
		p.session, err = p.beginChild(ctx, wr, opt)
	default:
		p.session, err = wr.store.Create(ctx, opt)
	}
	if err != nil {
		return err
	}
	p.id, p.path = p.session.ID(), p.session.Path()
	w, _ := dialect.AsWriter(p.session.Dialect()) // a session was just written, so its dialect is a writer
	p.joined = w.Habits().ResultsInCalls
	return nil
}

// documented is the time that the demo had when its ids were copied to the documents.
var documented = time.Date(2026, 11, 16, 13, 0, 0, 0, time.UTC)

// sameID gives the session an id that does not depend on the clock, so that the examples of the documents can be tried at any time. It is
// "" for a sub-agent, whose file has a name already, and for Wave, which reads the time of a session from its id.
func (p *play) sameID(w dialect.WritingDialect) (session.ID, error) {
	if p.story.child != "" || p.story.agent == "wave" {
		return "", nil
	}
	return w.NewID(p.story.begins(documented), p.random)
}

// beginChild creates the session of a sub-agent in the folder of the session that began it, with a file that describes the call. Only
// Claude Code has such folders, and no interface makes them: this is what its program writes.
func (p *play) beginChild(ctx context.Context, w *writer, opt store.CreateOptions) (*store.Session, error) {
	name, number, _ := strings.Cut(p.story.child, " ")
	from := w.told[name]
	n, err := strconv.Atoi(number)
	if err != nil || from == nil || n < 1 || n > len(from.calls) {
		return nil, fmt.Errorf("no call %s comes before its sub-agent", p.story.child)
	}
	dir := filepath.Join(filepath.Dir(from.path), string(from.id), "subagents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	agent := filepath.Join(dir, "agent-"+agentOf(from.calls[n-1]))
	note := fmt.Sprintf(`{"agentType":%s,"description":%s,"toolUseId":%s}`, quote(p.story.kind), quote(p.story.title), quote(from.calls[n-1]))
	if err := os.WriteFile(agent+".meta.json", []byte(note), 0o600); err != nil {
		return nil, err
	}
	opt.Title, opt.Write.Create = "", true
	return w.store.OpenWrite(ctx, agent+".jsonl", opt)
}

// hex makes an id of so many random bytes.
func (p *play) hex(n int) string {
	b := make([]byte, n)
	_, _ = io.ReadFull(p.random, b) // ChaCha8 does not fail
	return hex.EncodeToString(b)
}

// leave gives the log the time of its last entry, after tearing its end if the story says so. A session in a database of the agent is a row
// there.
func (p *play) leave(database string) error {
	if database != "" {
		return started.Changed(p.story.agent, database, string(p.id), p.end)
	}
	if p.story.torn {
		if err := tear(p.path); err != nil {
			return err
		}
	}
	err := os.Chtimes(p.path, p.end, p.end)
	if errors.Is(err, os.ErrNotExist) { // codelia's rows have no time of their own
		return nil
	}
	return err
}

// tear appends the first half of the log's last record, as after a power failure.
func tear(path string) error {
	log, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(log), "\n"), "\n")
	last := lines[len(lines)-1]
	return os.WriteFile(path, append(log, last[:len(last)/2]...), 0o600)
}

// steps writes the steps of the story.
func (p *play) steps(ctx context.Context) error {
	for _, st := range p.story.steps {
		if err := p.step(ctx, st); err != nil {
			return fmt.Errorf("line %d: %w", st.line, err)
		}
	}
	return p.answer(ctx)
}

func (p *play) step(ctx context.Context, st step) error {
	switch st.verb {
	case "think", "say", "call", "result", "error":
		return p.speak(ctx, st)
	}
	if err := p.answer(ctx); err != nil {
		return err
	}
	switch st.verb {
	case "user":
		return p.user(ctx, st)
	case "mark":
		p.marks[st.word()] = p.last
		return nil
	case "label":
		return p.added(p.session.Label(ctx, p.marks[st.word()], strings.Join(st.words[1:], " ")))
	case "back":
		_, err := p.session.Branch(ctx, p.marks[st.word()], store.BranchOptions{})
		p.last = p.marks[st.word()]
		return err
	case "compact":
		return p.compact(ctx, st)
	case "wait":
		return p.wait(st.word())
	}
	return fmt.Errorf("unknown step %q", st.verb)
}

// added remembers the entry that was appended.
func (p *play) added(a store.Appended, err error) error {
	if err == nil {
		p.last = a.ID
	}
	return err
}

func (p *play) wait(word string) error {
	d, err := time.ParseDuration(word)
	p.clock = p.clock.Add(d)
	return err
}

// until advances the clock, unless it is later already.
func (p *play) until(t time.Time) {
	if t.After(p.clock) {
		p.clock = t
	}
}

func (p *play) user(ctx context.Context, st step) error {
	p.clock = p.clock.Add(20*time.Second + time.Duration(len(st.text))*150*time.Millisecond)
	p.ledger.hear(st.text)
	var images []session.Image
	if st.word() == "chart" {
		images = append(images, session.Image{MIME: "image/png", Data: base64.StdEncoding.EncodeToString(chart)})
	}
	if p.story.run && p.record == nil { // a run begins with its prompt
		var err error
		if p.record, err = startRecording(ctx, p.store, p); err != nil {
			return err
		}
	}
	if err := p.record.prompt(ctx, st.text); err != nil {
		return err
	}
	return p.added(p.session.AppendUser(ctx, st.text, images...))
}

func (p *play) compact(ctx context.Context, st step) error {
	p.clock = p.clock.Add(25 * time.Second)
	before := p.ledger.context
	p.ledger.compact(st.text)
	return p.added(p.session.Compact(ctx, session.Compaction{Summary: st.text, FirstKept: p.marks[st.word()], TokensBefore: int(before)}))
}

// speak adds to the answer that is being made. A thought, text or call after results begins the next one.
func (p *play) speak(ctx context.Context, st step) error {
	isResult := st.verb == "result" || st.verb == "error"
	if !isResult && len(p.results) > 0 {
		if err := p.answer(ctx); err != nil {
			return err
		}
	}
	switch st.verb {
	case "think":
		p.parts = append(p.parts, session.Thinking{Text: st.text})
	case "say":
		p.parts = append(p.parts, session.Text{Text: st.text})
	case "call":
		arguments, err := st.arguments()
		if err != nil {
			return err
		}
		id := map[bool]string{true: "toolu_01", false: "call_"}[p.provider == "anthropic"] + p.hex(11)
		p.calls = append(p.calls, id)
		p.parts = append(p.parts, session.ToolCall{ID: id, Name: st.word(), Arguments: arguments})
	default:
		return p.result(st)
	}
	return nil
}

// result adds the result of the first call without one.
func (p *play) result(st step) error {
	took, err := time.ParseDuration(cmp.Or(st.word(), "200ms"))
	if err != nil {
		return err
	}
	n := 0
	for _, part := range p.parts {
		call, ok := part.(session.ToolCall)
		if !ok {
			continue
		}
		if n++; n > len(p.results) {
			p.results = append(p.results, session.ToolResult{
				CallID: call.ID, Name: call.Name, Parts: []session.Part{session.Text{Text: st.text}}, IsError: st.verb == "error",
			})
			p.took = append(p.took, took)
			return nil
		}
	}
	return errors.New("a result without a call")
}

// answer writes the finished answer, and the results of its calls.
func (p *play) answer(ctx context.Context) error {
	if len(p.parts) == 0 {
		return nil
	}
	parts, results, took := p.parts, p.results, p.took
	p.parts, p.results, p.took = nil, nil, nil
	usage := p.ledger.answer(parts)
	if err := p.record.request(ctx); err != nil {
		return err
	}
	p.clock = p.clock.Add(3*time.Second + time.Duration(usage.Output)*22*time.Millisecond)
	if err := p.record.response(ctx, parts, usage); err != nil {
		return err
	}
	asked := p.clock // calls run in parallel
	if p.joined {
		for i, r := range results {
			parts = append(parts, r)
			p.until(asked.Add(took[i]))
		}
	}
	if err := p.added(p.session.AppendAssistant(ctx, parts, store.Answer{Provider: p.provider, Model: p.model, Usage: &usage})); err != nil {
		return err
	}
	for i, r := range results {
		p.ledger.hear(dialect.TextOf(r.Parts))
		p.until(asked.Add(took[i]))
		if err := p.record.output(ctx, r); err != nil {
			return err
		}
		if p.joined {
			continue
		}
		if err := p.added(p.respond(ctx, r, took[i])); err != nil {
			return err
		}
	}
	return nil
}

// respond appends a result. That of a sub-agent names it, as in Claude Code.
func (p *play) respond(ctx context.Context, r session.ToolResult, took time.Duration) (store.Appended, error) {
	if p.story.agent != "claude" || r.Name != "Task" {
		return p.session.AppendToolResult(ctx, r.CallID, r.Parts, r.IsError)
	}
	content := fmt.Sprintf(`[{"type":"text","text":%s}]`, quote(dialect.TextOf(r.Parts)))
	return p.session.AppendRecord(ctx, fmt.Appendf(nil, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":%s,"type":"tool_result","content":%s}]},`+
		`"toolUseResult":{"status":"completed","agentId":%s,"content":%s,"totalDurationMs":%d}}`,
		quote(r.CallID), content, quote(agentOf(r.CallID)), content, took.Milliseconds()))
}

// agentOf returns the id of the sub-agent that a call begins.
func agentOf(call string) string { return call[len(call)-8:] }
