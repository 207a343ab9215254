package gen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Machine writes a home folder with small sessions of all agents that have everything that must not be counted twice: forks, by copy and by
// reference, sub-agents, rollouts that replace others, answers of several lines. It returns the totals of each agent's sessions. All are of
// the project in MachineCWD, and a session begins an hour after the one before.
func Machine(home string, seed uint64) (map[string]Told, error) {
	m := machine{home: home, seed: seed, told: map[string]Told{}}
	m.pi("pi", ".pi/agent/sessions", true)
	m.pi("omp", ".omp/agent/sessions", false)
	m.operator()
	m.wave()
	m.codelia()
	m.claude()
	m.codex()
	return m.told, m.err
}

// MachineCWD is the working directory of the sessions of Machine.
const MachineCWD = "/work/garden"

// machine is a home folder that is being written; err is the first error.
type machine struct {
	home string
	seed uint64
	n    int
	told map[string]Told
	err  error
}

// session makes the next session.
func (m *machine) session(o Options) (log []byte, id string) {
	m.n++
	o.Seed, o.Project, o.Cwd = m.seed<<8+uint64(m.n), m.seed, MachineCWD
	o.Start = m.start()
	if o.Entries == 0 {
		o.Entries = 60
	}
	log = Session(o)
	return log, entries(log)[0].ID
}

func (m *machine) start() time.Time { return time.Date(2026, 3, 2, m.n, 0, 0, 0, time.UTC) }

// put writes a file, with a time after the start of the last session, and adds its totals.
func (m *machine) put(agent, path string, log []byte, t Told) {
	path = filepath.Join(m.home, filepath.FromSlash(path))
	if m.err == nil {
		m.err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if m.err == nil {
		m.err = os.WriteFile(path, log, 0o600)
	}
	if m.err == nil {
		at := m.start().Add(time.Hour / 2)
		m.err = os.Chtimes(path, at, at)
	}
	sum := m.told[agent]
	sum.Add(t)
	m.told[agent] = sum
}

// pi writes a session with branches, and a fork of it that begins with all its entries.
func (m *machine) pi(agent, root string, pi bool) {
	dir := root + "/-" + dashed(MachineCWD) + "--/"
	log, id := m.session(Options{Pi: pi, Branches: 2, CompactEvery: 30})
	m.put(agent, dir+"1_"+id+".jsonl", log, Tell(log))
	more, fork := m.session(Options{Pi: pi, Entries: 10})
	header, own, _ := bytes.Cut(more, []byte("\n"))
	_, old, _ := bytes.Cut(log, []byte("\n"))
	parent := fmt.Sprintf(`,"parentSession":%q}`+"\n", id)
	list := entries(log)
	own = bytes.Replace(own, []byte(`"parentId":null`), []byte(`"parentId":"`+list[len(list)-1].ID+`"`), 1)
	m.put(agent, dir+"2_"+fork+".jsonl", bytes.Join([][]byte{bytes.TrimSuffix(header, []byte("}")), []byte(parent), old, own}, nil), Tell(more))
}

func (m *machine) operator() {
	log, id := m.session(Options{})
	t := Tell(log)
	t.Cost = 0 // gen.Operator writes none
	m.put("operator", ".operator/sessions/"+id+".jsonl", Operator(log), t)
}

func (m *machine) wave() {
	log, _ := m.session(Options{})
	out := Wave(log)
	t := Told{Sessions: 1, Messages: bytes.Count(out, []byte("\n")) - 1}
	for _, e := range entries(log) {
		if e.Message != nil && e.Message.Usage != nil { // Wave knows no cache
			u := e.Message.Usage
			t.Input, t.Output, t.Total = t.Input+int64(u.Input), t.Output+int64(u.Output), t.Total+int64(u.TotalTokens)
		}
	}
	m.put("wave", ".wave/projects/"+dashed(MachineCWD)[1:]+"/1f0f8fad-5bd9-6cb4-a165-70867728950e.jsonl", out, t)
}

// codelia writes a state, which records no tokens.
func (m *machine) codelia() {
	log, id := m.session(Options{Entries: 20})
	var messages []string
	for _, e := range entries(log) {
		if e.Message != nil {
			messages = append(messages, chatMessages(e.Message)...)
		}
	}
	m.put("codelia-state-doc", ".codelia/sessions/state/"+id+".json", fmt.Appendf(nil,
		`{"schema_version":1,"session_id":%q,"updated_at":%q,"run_id":"r1","invoke_seq":1,"messages":[%s],"meta":{"codelia_workspace_root":%q}}`,
		id, m.start().Add(time.Hour/2).Format(time.RFC3339), joined(messages), MachineCWD), Told{Sessions: 1, Messages: len(messages)})
}

// dashed returns a path as the name of a folder.
func dashed(path string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, path)
}

// claude writes a session with a sub-agent, a fork that copied it without naming it, a session with branches and compactions, and the
// prompts that were typed.
func (m *machine) claude() {
	dir := ".claude/projects/" + dashed(MachineCWD) + "/"
	log, id := m.session(Options{CompactEvery: -1})
	out, t := ClaudeLog(log, ClaudeOptions{})
	m.put("claude", dir+id+".jsonl", out, t)
	task, _ := m.session(Options{Entries: 12})
	sub, u := ClaudeLog(task, ClaudeOptions{ID: id, Agent: "a1b2c3d4e5f60718"})
	m.put("claude", dir+id+"/subagents/agent-a1b2c3d4e5f60718.jsonl", sub, u)
	m.put("claude", dir+id+"/subagents/agent-a1b2c3d4e5f60718.meta.json", []byte(`{"agentType":"Explore","description":"explore","toolUseId":"toolu_1"}`), Told{})

	// The path without its metadata, under another id; then a turn of its own.
	more, fork := m.session(Options{Entries: 8})
	var copied []byte
	last := ""
	for line := range bytes.Lines(out) {
		if _, rest, ok := bytes.Cut(line, []byte(`"uuid":"`)); ok {
			last = string(rest[:36])
			copied = append(copied, bytes.Replace(line, []byte(`"sessionId":"`+id), []byte(`"sessionId":"`+fork), 1)...)
		}
	}
	own, u := ClaudeLog(more, ClaudeOptions{Costs: t.Cost, Parent: last})
	m.put("claude", dir+fork+".jsonl", append(copied, own...), u)

	log, id = m.session(Options{Branches: 3, CompactEvery: 25})
	out, t = ClaudeLog(log, ClaudeOptions{})
	m.put("claude", dir+id+".jsonl", out, t)
	m.put("claude", ".claude/history.jsonl", fmt.Appendf(nil,
		`{"display":"typed into claude","pastedContents":{},"timestamp":1772443800000,"project":%q,"sessionId":%q}`+"\n", MachineCWD, id), Told{})
}

// codex writes a thread with turns that were rolled back, a thread with a fork, a rollout that replaces it, a sub-agent, an archived
// thread, the names of threads, and the prompts that were typed.
func (m *machine) codex() {
	put := func(dir, name string, log []byte, t Told) {
		m.put("codex", ".codex/"+dir+"rollout-2026-03-02T10-00-00-"+name+".jsonl", log, t)
	}
	const day = "sessions/2026/03/02/"
	log, id := m.session(Options{Branches: 2, CompactEvery: 25})
	out, t, _ := CodexLog(log, CodexOptions{})
	put(day, id, out, t)
	m.put("codex", ".codex/session_index.jsonl", fmt.Appendf(nil, `{"id":%q,"thread_name":"A named thread","updated_at":"2026-03-02T10:00:00Z"}`+"\n", id), Told{})
	m.put("codex", ".codex/history.jsonl", fmt.Appendf(nil, `{"session_id":%q,"ts":1772443900,"text":"typed into codex"}`+"\n", id), Told{})

	log, id = m.session(Options{CompactEvery: -1})
	out, t, end := CodexLog(log, CodexOptions{Paginated: true})
	put(day, id, out, t)
	base := fmt.Sprintf(`"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":%d}`, id, end, len(out))
	next := func(meta string) (string, CodexOptions, []byte) {
		log, id := m.session(Options{Entries: 10})
		return id, CodexOptions{Paginated: true, Meta: meta, From: end, Used: t}, log
	}
	fork, o, log := next(fmt.Sprintf(`,"forked_from_id":%q,%s`, id, base))
	out, u, _ := CodexLog(log, o)
	put(day, fork, out, u)
	rollout, o, log := next("," + base)
	o.ID = id
	out, u, _ = CodexLog(log, o)
	put(day, id+"_"+rollout, out, u)
	sub, o, log := next(fmt.Sprintf(`,"parent_thread_id":%q,"thread_source":"subagent"`, id))
	o.From, o.Used = 0, Told{}
	out, u, _ = CodexLog(log, o)
	put(day, sub, out, u)
	old, o, log := next("")
	o.From, o.Used = 0, Told{}
	out, u, _ = CodexLog(log, o)
	put("archived_sessions/", old, out, u)
}
