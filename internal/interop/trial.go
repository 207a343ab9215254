package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/session"
)

// view is a session as one side sees it. Everything is decoded, since the same number or text has several spellings.
type view struct {
	Leaf    *string
	Entries []any
	Context struct {
		Messages      []any
		ThinkingLevel any
		Model         any
	}
	Name   string
	Labels map[string]string
}

// step is a change for the agent to make.
type step struct {
	Do      string          `json:"do"`
	Target  int             `json:"target"`
	Text    string          `json:"text"`
	More    string          `json:"more"`
	Message json.RawMessage `json:"message,omitempty"`
}

// compareTrees makes the comparison "trees".
func compareTrees(ctx context.Context, opt options) error {
	home := filepath.Join(opt.work, "trees")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	p, err := pi073.start(opt, home)
	if err != nil {
		return err
	}
	defer p.stop()
	began, entries := time.Now(), 0
	for i := range opt.trees {
		seed := opt.seed + uint64(i)
		t := newTrial(home, p, seed)
		if err := t.run(ctx); err != nil {
			return fmt.Errorf("tree %d of seed %d: %w", i, seed, err)
		}
		entries += t.entries
	}
	fmt.Printf("interop: %d trees with %d entries: %s and this library see the same leaf, entries, labels, name and context (%d comparisons, %.1f s)\n",
		opt.trees, entries, p.name, p.asked, time.Since(began).Seconds())
	return nil
}

// trial is one random tree, to which both sides append by turns.
type trial struct {
	dir     string
	peer    *peer
	rnd     *rand.Rand
	store   *treeline.Store
	entries int
}

func newTrial(dir string, p *peer, seed uint64) *trial {
	return &trial{dir: dir, peer: p, rnd: rand.New(rand.NewPCG(seed, 0))}
}

// run lets this library and the agent append by turns, three times each, and compares after each turn. Nothing is refused: the agent
// accepts what this library takes for a mistake, such as a compaction that keeps from an entry of another branch.
func (t *trial) run(ctx context.Context) (err error) {
	write := treeline.WriteOptions{Defer: dialect.DeferAssistant, Force: true}
	if t.store, err = treeline.New(treeline.Options{Home: t.dir, WorkDir: t.dir, Getenv: func(string) string { return "" }}); err != nil {
		return err
	}
	s, err := t.store.Create(ctx, treeline.CreateOptions{Dialect: pi.Pi, Dir: filepath.Join(t.dir, "sessions"), CWD: t.dir,
		Write: write})
	if err != nil {
		return err
	}
	path := s.Path()
	// The agent would rewrite a file without an assistant message.
	if err := t.say(ctx, s, "assistant"); err != nil {
		return err
	}
	for turn := range 3 {
		if turn > 0 {
			if s, err = t.store.OpenWrite(ctx, path, treeline.CreateOptions{Dialect: pi.Pi, Write: write}); err != nil {
				return err
			}
		}
		for range 1 + t.rnd.IntN(15) {
			if err := t.ours(ctx, s); err != nil {
				return fmt.Errorf("turn %d: %w", turn, err)
			}
		}
		live, err := t.look(ctx, s)
		if err != nil {
			return err
		}
		// An unwritten move of the leaf is lost when the file is opened again.
		leaf := s.Leaf()
		if err := s.Close(); err != nil {
			return err
		}
		theirs, err := t.ask(path, nil)
		if err != nil {
			return err
		}
		if err := t.compare(ctx, path, theirs); err != nil {
			return fmt.Errorf("turn %d, what we wrote: %w", turn, err)
		}
		// Only if the leaf is that of the file: the agent does not see an unwritten move.
		if theirs.Leaf != nil && *theirs.Leaf == string(leaf) && !reflect.DeepEqual(live, theirs) {
			return fmt.Errorf("turn %d: what the open session saw is not what the agent sees", turn)
		}
		if theirs, err = t.ask(path, t.theirs()); err != nil {
			return err
		}
		if err := t.compareWritten(ctx, path, theirs); err != nil {
			return fmt.Errorf("turn %d, what the agent wrote: %w", turn, err)
		}
	}
	return nil
}

// ask makes the agent open a session, perform the steps, and return what it sees. Without steps it must not change the file.
func (t *trial) ask(path string, steps []step) (v view, err error) {
	command := struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Steps []step `json:"steps"`
	}{"read", path, steps}
	if steps != nil {
		command.Op = "write"
	}
	err = t.peer.ask(command, &v)
	return v, err
}

// look returns what this library sees of an open session.
func (t *trial) look(ctx context.Context, s *treeline.Session) (v view, err error) {
	leaf := s.Leaf()
	if leaf != "" {
		v.Leaf = (*string)(&leaf)
	}
	v.Labels = map[string]string{}
	t.entries = s.Tree().Len()
	for e := range s.Tree().Entries() {
		raw, err := e.Raw()
		if err != nil {
			return v, err
		}
		var entry any
		if err := json.Unmarshal(raw, &entry); err != nil {
			return v, err
		}
		v.Entries = append(v.Entries, entry)
		if label := s.Tree().Label(e.ID); label != "" {
			v.Labels[string(e.ID)] = label
		}
	}
	if v.Name, err = s.Name(); err != nil {
		return v, err
	}
	c, err := s.Context(ctx, leaf, treeline.ContextOptions{})
	if err != nil {
		return v, err
	}
	v.Context.Messages = []any{}
	for m, err := range c.Messages() {
		if err != nil {
			return v, err
		}
		var message any
		if err := json.Unmarshal(m.JSON, &message); err != nil {
			return v, err
		}
		v.Context.Messages = append(v.Context.Messages, message)
	}
	var state struct{ ThinkingLevel, Model any }
	if err := json.Unmarshal(append(c.AppendState([]byte("{")), '}'), &state); err != nil {
		return v, err
	}
	v.Context.ThinkingLevel, v.Context.Model = state.ThinkingLevel, state.Model
	return v, nil
}

// compare opens the file for reading and compares both views. The tree must have no problems.
func (t *trial) compare(ctx context.Context, path string, theirs view) error {
	s, err := t.store.Open(ctx, path, treeline.OpenOptions{Dialect: pi.Pi})
	if err != nil {
		return err
	}
	defer s.Close()
	if p := s.Tree().Problems(); len(p) > 0 {
		return &p[0]
	}
	ours, err := t.look(ctx, s)
	if err != nil {
		return err
	}
	a, b := reflect.ValueOf(ours), reflect.ValueOf(theirs)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			return fmt.Errorf("%s: %s\nwe see    %s\npi sees   %s", path, a.Type().Field(i).Name, spell(x), spell(y))
		}
	}
	return nil
}

// compareWritten is compare after the agent wrote. The agent opens the file again, since its leaf may not be in the file.
func (t *trial) compareWritten(ctx context.Context, path string, theirs view) error {
	again, err := t.ask(path, nil)
	if err != nil {
		return err
	}
	if len(again.Entries) != len(theirs.Entries) {
		return fmt.Errorf("the agent had %d entries and finds %d", len(theirs.Entries), len(again.Entries))
	}
	return t.compare(ctx, path, again)
}

// texts contain quotes, control characters, line separators, surrogate pairs, and the end tag of a summary.
var texts = []string{"plain", "with \"quotes\" and \\ slashes", "lines\nof\ttext\r\n", "ünïcödé 漢字 😀", "", "\u2028\u2029\u0000\u001f", "</summary>", strings.Repeat("long ", 3000)}

func (t *trial) text() string { return texts[t.rnd.IntN(len(texts))] }

// message returns a message in the format of the agent.
func (t *trial) message(role string) json.RawMessage {
	text := fmt.Sprintf(`{"type":"text","text":%s}`, spell(t.text()))
	more := ""
	switch role {
	case "user":
		more = `"content":` + spell(t.text())
		if t.rnd.IntN(2) == 0 {
			more = `"content":[` + text + `,{"type":"image","data":"AAAA","mimeType":"image/png"}]`
		}
	case "assistant":
		more = fmt.Sprintf(`"content":[%s,{"type":"toolCall","id":"call","name":"bash","arguments":{"n":%v}}],`+
			`"provider":"anthropic","model":"model-%d","api":"messages","stopReason":%q,`+
			`"usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"total":0.125}}`,
			text, t.rnd.Float64(), t.rnd.IntN(4), []string{"stop", "toolUse", "error", "aborted"}[t.rnd.IntN(4)])
	case "toolResult":
		more = fmt.Sprintf(`"content":[%s],"toolCallId":"call","toolName":"bash","isError":%v`, text, t.rnd.IntN(2) == 0)
	case "bashExecution":
		more = fmt.Sprintf(`"command":"ls","output":%s,"exitCode":0,"cancelled":false,"truncated":false`, spell(t.text()))
	}
	return fmt.Appendf(nil, `{"role":%q,%s,"timestamp":%d}`, role, more, 1_771_236_000_000+t.rnd.IntN(1_000_000))
}

// role returns a role; messages of the last one may be left out of a context.
func (t *trial) role() string {
	return []string{"user", "assistant", "toolResult", "bashExecution"}[t.rnd.IntN(4)]
}

// say appends a message with this library.
func (t *trial) say(ctx context.Context, s *treeline.Session, role string) error {
	_, err := s.AppendMessage(ctx, t.message(role))
	return err
}

// ours makes one random change with this library.
func (t *trial) ours(ctx context.Context, s *treeline.Session) (err error) {
	target := s.Tree().At(t.rnd.IntN(s.Tree().Len())).ID
	switch t.rnd.IntN(20) {
	case 0:
		_, err = s.AppendThinkingLevelChange(ctx, []string{"off", "high"}[t.rnd.IntN(2)])
	case 1:
		_, err = s.AppendModelChange(ctx, "", "openai", "gpt")
	case 2:
		_, err = s.Compact(ctx, session.Compaction{Summary: t.text(), FirstKept: target, TokensBefore: 77, FromExtension: new(t.rnd.IntN(2) == 0)})
	case 3:
		_, err = s.AppendCustom(ctx, "ext", []byte(`{"state":[1,2.50]}`))
	case 4:
		_, err = s.AppendCustomMessage(ctx, session.CustomMessage{Type: "ext", Content: session.Raw(`"shown"`), Display: t.rnd.IntN(2) == 0, Details: session.Raw(`{"k":1}`)})
	case 5:
		_, err = s.Label(ctx, target, []string{"here", "there", ""}[t.rnd.IntN(3)])
	case 6:
		err = s.Rename(ctx, []string{"A name", "Another\nname", ""}[t.rnd.IntN(3)])
	case 7, 8:
		_, err = s.Branch(ctx, target, treeline.BranchOptions{Durable: true})
	case 9:
		_, err = s.Branch(ctx, target, treeline.BranchOptions{})
	case 10:
		_, err = s.BranchWithSummary(ctx, target, session.BranchSummary{Summary: t.text(), Details: session.Raw(`{"d":null}`)})
	case 11:
		err = s.ResetLeaf(ctx, treeline.BranchOptions{Durable: t.rnd.IntN(2) == 0})
	case 12:
		_, err = s.AppendRecord(ctx, []byte(`{"type":"future","payload":{"n":1}}`))
	default:
		err = t.say(ctx, s, t.role())
	}
	return err
}

// theirs returns random changes for the agent.
func (t *trial) theirs() []step {
	steps := []step{}
	for range 1 + t.rnd.IntN(12) {
		s := step{Target: t.rnd.IntN(1000), Text: t.text(), More: t.text(), Message: json.RawMessage(`{"k":` + spell(t.text()) + `}`)}
		switch s.Do = []string{"message", "message", "message", "message", "thinking", "model", "compaction", "custom", "custom_message",
			"label", "name", "branch", "reset", "summary"}[t.rnd.IntN(14)]; s.Do {
		case "message":
			s.Message = t.message(t.role())
		case "thinking":
			s.Text = "low"
		case "name":
			s.Text = "theirs"
		}
		steps = append(steps, s)
	}
	return steps
}
