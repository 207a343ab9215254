package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/pi"
)

// compareContexts makes the comparison "contexts".
func compareContexts(ctx context.Context, opt options) error {
	for _, r := range []*contextReader{
		{program: pi15, dialect: pi.Pi, members: []string{"messages", "thinkingLevel", "model"}},
		{program: omp13.reading(), dialect: pi.Omp},
		{program: omp18, dialect: pi.Omp18},
	} {
		if err := r.run(ctx, opt); err != nil {
			return fmt.Errorf("%s: %w", r.program.name, err)
		}
	}
	return nil
}

// contextReader compares how one agent and this library read sessions.
type contextReader struct {
	program program
	dialect dialect.Dialect
	// members are the members of a context that are compared; nil means all. In contexts of pi this library adds members of omp.
	members []string

	home  string
	peer  *peer
	store *treeline.Store
}

// reading is a session as one side reads it.
type reading struct {
	Name    string
	Leaf    *string
	Context row
}

func (r *contextReader) run(ctx context.Context, opt options) (err error) {
	r.home = filepath.Join(opt.work, "contexts-"+r.dialect.Name())
	if err := os.MkdirAll(r.home, 0o700); err != nil {
		return err
	}
	if r.peer, err = r.program.start(opt, r.home); err != nil {
		return err
	}
	defer r.peer.stop()
	r.store, err = treeline.New(treeline.Options{Home: r.home, WorkDir: r.home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true})
	if err != nil {
		return err
	}
	defer r.store.Close()
	began := time.Now()
	for i := range opt.contexts {
		seed := opt.seed + uint64(i)
		if err := r.trial(ctx, newSheet(seed, r.dialect)); err != nil {
			return fmt.Errorf("session %d of seed %d: %w", i, seed, err)
		}
	}
	fmt.Printf("interop: %d sessions: %s and this library see the same name, models, tier and context (%d comparisons, %.1f s)\n",
		opt.contexts, r.program.name, r.peer.asked, time.Since(began).Seconds())
	return nil
}

// trial compares a session as it was written, and again after this library gave it a name, which migrates an old version.
func (r *contextReader) trial(ctx context.Context, s *sheet) error {
	path := filepath.Join(r.home, "session.jsonl")
	if err := os.WriteFile(path, []byte(s.text()), 0o600); err != nil {
		return err
	}
	// Files of omp before version 3 name models in two members, which current versions of the program ignore.
	if err := r.compare(ctx, path, s.version < 3 && r.dialect != pi.Pi); err != nil {
		return err
	}
	sess, err := r.store.OpenWrite(ctx, path, treeline.CreateOptions{Dialect: r.dialect})
	if err != nil {
		return err
	}
	if err := errors.Join(sess.Rename(ctx, s.name()), sess.Close()); err != nil {
		return err
	}
	if err := r.compare(ctx, path, false); err != nil {
		return fmt.Errorf("after a rename: %w", err)
	}
	return r.born(ctx, s)
}

// born compares a session that this library begins.
func (r *contextReader) born(ctx context.Context, s *sheet) error {
	sess, err := r.store.Create(ctx, treeline.CreateOptions{Dialect: r.dialect, Dir: r.home, CWD: r.home, Title: s.name(),
		Write: treeline.WriteOptions{Defer: dialect.DeferNever, Force: true}}) // a compaction may keep from an entry that does not exist
	if err != nil {
		return err
	}
	path := sess.Path()
	defer os.Remove(path)
	s.version = 3
	for range 5 {
		if _, err := sess.AppendRecord(ctx, []byte(s.entry("x", ""))); err != nil {
			return errors.Join(err, sess.Close())
		}
	}
	if err := sess.Close(); err != nil {
		return err
	}
	if err := r.compare(ctx, path, false); err != nil {
		return fmt.Errorf("a session that we began: %w", err)
	}
	return nil
}

// compare compares both readings of a file. The agent gets a copy: pi rewrites old versions when it opens them.
func (r *contextReader) compare(ctx context.Context, path string, exceptModels bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	copied := filepath.Join(r.home, "copy.jsonl")
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		return err
	}
	var theirs reading
	if err := r.peer.ask(map[string]string{"op": "read", "path": copied}, &theirs); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	ours, err := r.read(ctx, path)
	if err != nil {
		return err
	}
	if r.members != nil {
		ours.Context = slices.DeleteFunc(ours.Context, func(m member) bool { return !slices.Contains(r.members, m.Name) })
	}
	if exceptModels {
		models := func(m member) bool { return m.Name == "models" }
		ours.Context, theirs.Context = slices.DeleteFunc(ours.Context, models), slices.DeleteFunc(theirs.Context, models)
	}
	// The ids that version 1 lacks are made by each side.
	if strings.Contains(string(text), `"version":1`) {
		ours.Leaf, theirs.Leaf = nil, nil
	}
	if !reflect.DeepEqual(ours, theirs) {
		return fmt.Errorf("we read   %s\nit reads  %s\n%s", spell(ours), spell(theirs), text)
	}
	return nil
}

// read reads a session with this library.
func (r *contextReader) read(ctx context.Context, path string) (v reading, err error) {
	s, err := r.store.Open(ctx, path, treeline.OpenOptions{Dialect: r.dialect})
	if err != nil {
		return v, err
	}
	defer s.Close()
	leaf := s.Leaf()
	if leaf != "" {
		v.Leaf = (*string)(&leaf)
	}
	if v.Name, err = s.Name(); err != nil {
		return v, err
	}
	c, err := s.Context(ctx, leaf, treeline.ContextOptions{})
	if err != nil {
		return v, err
	}
	text := []byte(`{"messages":[`)
	for m, err := range c.Messages() {
		if err != nil {
			return v, err
		}
		if text[len(text)-1] != '[' {
			text = append(text, ',')
		}
		text = append(text, m.JSON...)
	}
	return v, json.Unmarshal(append(c.AppendState(append(text, "],"...)), '}'), &v.Context)
}

// sheet makes the text of a random session.
type sheet struct {
	rnd     *rand.Rand
	dialect dialect.Dialect
	version int
	ids     []string
	calls   int
}

func newSheet(seed uint64, d dialect.Dialect) *sheet {
	s := &sheet{rnd: rand.New(rand.NewPCG(seed, 1)), dialect: d, version: 3}
	if s.rnd.IntN(4) == 0 {
		s.version = 1 + s.rnd.IntN(2)
	}
	return s
}

func (s *sheet) pick(list ...string) string { return list[s.rnd.IntN(len(list))] }

func (s *sheet) name() string {
	return s.pick("A name", "Another \"name\"", "", "ünïcödé 漢字 😀", strings.Repeat("long ", 80))
}

// text returns the lines: a title slot for omp 18, the header, and entries of which most follow the one before.
func (s *sheet) text() string {
	var b strings.Builder
	if s.dialect == pi.Omp18 && s.rnd.IntN(4) > 0 {
		slot := pi.Omp18.NewSlot(dialect.NewSession{Title: s.name(), Time: time.UnixMilli(1_771_236_000_000)})
		b.Write(append(slot, '\n'))
	}
	title := ""
	if s.rnd.IntN(2) == 0 {
		title = `,"title":` + spell(s.name())
	}
	fmt.Fprintf(&b, `{"type":"session","version":%d,"id":"5e55","timestamp":"2026-02-16T10:00:00.000Z","cwd":%s%s}`+"\n", s.version, spell("/w"), title)
	for i := range s.rnd.IntN(30) {
		parent := "null"
		if n := len(s.ids); n > 0 {
			at := n - 1
			if s.rnd.IntN(8) == 0 {
				at = s.rnd.IntN(n)
			}
			parent = spell(s.ids[at])
		}
		id := fmt.Sprintf("%08x", i+1)
		b.WriteString(s.entry(id, parent) + "\n")
		s.ids = append(s.ids, id)
	}
	return b.String()
}

// entry returns a random entry. Without a parent it is for a session that places entries itself.
func (s *sheet) entry(id, parent string) string {
	kind, members := s.content()
	place := ""
	switch {
	case s.version == 1:
	case parent == "":
		place = `"id":"x",`
	default:
		place = fmt.Sprintf(`"id":%q,"parentId":%s,`, id, parent)
	}
	return fmt.Sprintf(`{"type":%q,%s"timestamp":"2026-02-16T10:00:%02d.000Z",%s}`, kind, place, s.rnd.IntN(60), members)
}

// content returns the type of an entry and its own members.
func (s *sheet) content() (kind, members string) {
	switch s.rnd.IntN(20) {
	case 0, 1:
		return "model_change", s.model()
	case 2, 3:
		return "service_tier_change", `"serviceTier":` + s.pick(`"flex"`, `"priority"`, `"openai-only"`, `"claude-only"`, `"odd"`, `null`,
			`{"openai":"flex","google":"priority"}`, `{"anthropic":"odd"}`, `{}`)
	case 4:
		return "mcp_tool_selection", `"selectedToolNames":` + s.pick(`[]`, `["grep"]`, `["b","a"]`)
	case 5:
		return "session_info", s.pick(`"name":"An entry's name"`, `"name":" in\nlines "`, `"name":""`, `"x":1`)
	case 6:
		return "thinking_level_change", `"thinkingLevel":` + s.pick(`"low"`, `"high"`, `null`) + s.pick(``, `,"configured":"auto"`)
	case 7:
		return "mode_change", `"mode":` + s.pick(`"plan"`, `"none"`) + s.pick(``, `,"data":{"file":"x"}`)
	case 8:
		return "ttsr_injection", `"injectedRules":` + s.pick(`["a"]`, `["b","a"]`)
	case 9:
		return "title_change", `"title":"of an entry","source":"user"`
	case 10:
		return "reset_boundary", `"reason":"clear"`
	case 11:
		return "compaction", `"summary":"S",` + s.pick(``, `"shortSummary":"short",`) + s.kept() + `"tokensBefore":5` + s.pick(``, `,"tokensAfter":2,"method":"handoff"`) + s.provided()
	case 12:
		return "custom_message", `"customType":` + s.pick(`"x"`, `"prewalk-plan"`) + `,"content":"c","display":true`
	}
	return "message", `"message":` + s.message()
}

// kept returns the member for what a compaction keeps; version 1 has an index.
func (s *sheet) kept() string {
	if s.version == 1 {
		return fmt.Sprintf(`"firstKeptEntryIndex":%d,`, s.rnd.IntN(len(s.ids)+1))
	}
	return fmt.Sprintf(`"firstKeptEntryId":%q,`, append(s.ids, "none")[s.rnd.IntN(len(s.ids)+1)])
}

// provided returns the members of a compaction by the provider, whose history may end before the compaction.
func (s *sheet) provided() string {
	if s.version < 3 || s.rnd.IntN(3) > 0 {
		return ""
	}
	end := ""
	if len(s.ids) > 0 && s.rnd.IntN(3) > 0 {
		end = fmt.Sprintf(`,"providerReplayThroughEntryId":%q`, append(s.ids, "none")[s.rnd.IntN(len(s.ids)+1)])
	}
	return end + `,"preserveData":{"openaiRemoteCompaction":` + s.pick(`{"provider":"openai","replacementHistory":[{"n":1}]}`,
		`{"provider":"openai","replacementHistory":[]}`, `{"provider":"","replacementHistory":[]}`, `{"provider":"openai"}`, `null`) + `}`
}

// model returns a model in one member, in two, or in both.
func (s *sheet) model() string {
	one, two := `"model":"openai/gpt"`, `"provider":"google","modelId":"gemini"`
	spelling := s.pick(one, two, one+","+two)
	return spelling + s.pick(``, `,"role":"default"`, `,"role":"smol"`)
}

// message returns a message; answers may have failed, and calls may have no result.
func (s *sheet) message() string {
	switch s.rnd.IntN(4) {
	case 0:
		return `{"role":"user","content":"u","timestamp":1}`
	case 1:
		return fmt.Sprintf(`{"role":"toolResult","toolCallId":"c%d","toolName":"ls","content":[],"isError":false,"timestamp":1}`, s.calls)
	}
	s.calls++
	call := fmt.Sprintf(`{"type":"toolCall","id":"c%d","name":"ls","arguments":{}}`, s.calls)
	thought := `{"type":"thinking","thinking":"t","thinkingSignature":"s"}`
	content := s.pick(`{"type":"text","text":"a"}`, call, thought+","+call, `{"type":"text","text":"a"},`+call, ``)
	return fmt.Sprintf(`{"role":"assistant","content":[%s],"provider":"anthropic","model":%q,"stopReason":%q,"timestamp":1,`+
		`"usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}`,
		content, s.pick("opus", "sonnet"), s.pick("stop", "toolUse", "error", "aborted"))
}
