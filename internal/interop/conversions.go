package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/session"
)

// compareConversions makes the comparison "conversions": sessions of other agents are converted for pi and omp. The real program opens
// them, and its request must equal that of this library. A provider must accept each message, and none may be missing.
func compareConversions(ctx context.Context, opt options) error {
	for _, target := range []struct {
		program program
		dialect dialect.Dialect
	}{{pi15, pi.Pi}, {omp13, pi.Omp}} {
		home := filepath.Join(opt.work, "conversions-"+target.dialect.Name())
		if err := os.MkdirAll(home, 0o700); err != nil {
			return err
		}
		p, err := target.program.start(opt, home)
		if err != nil {
			return err
		}
		began, messages, sessions := time.Now(), 0, 0
		for i := range opt.conversions {
			c := conversion{dir: filepath.Join(home, fmt.Sprint(i)), peer: p, to: target.dialect}
			n, err := c.run(ctx, opt.seed+uint64(i))
			if err != nil {
				p.stop()
				return fmt.Errorf("conversion of seed %d: %w", opt.seed+uint64(i), err)
			}
			messages, sessions = messages+n, sessions+c.sessions
		}
		p.stop()
		fmt.Printf("interop: %d converted sessions: %s would send the %d messages that this library says, and a provider accepts them (%.1f s)\n",
			sessions, p.name, messages, time.Since(began).Seconds())
	}
	return nil
}

// conversion converts one conversation from the formats of all other agents.
type conversion struct {
	dir      string
	peer     *peer
	to       dialect.Dialect
	sessions int
}

// run returns how many messages were compared.
func (c *conversion) run(ctx context.Context, seed uint64) (messages int, err error) {
	log := gen.Session(gen.Options{Seed: seed, Entries: 80, CompactEvery: 30, Branches: 1})
	for _, from := range []struct {
		dialect dialect.Dialect
		log     []byte
	}{{wave.Wave, gen.Wave(log)}, {codelia.Codelia, gen.Run(log)}, {codelia.State, gen.State(log)}, {operator.Operator, gen.Operator(log)}} {
		n, err := c.convert(ctx, from.dialect, from.log)
		if err != nil {
			return messages, fmt.Errorf("from %s: %w", from.dialect.Name(), err)
		}
		c.sessions++
		messages += n
	}
	return messages, nil
}

func (c *conversion) convert(ctx context.Context, from dialect.Dialect, log []byte) (messages int, err error) {
	dir := filepath.Join(c.dir, from.Name())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	path := filepath.Join(dir, "019cab00-0000-7000-8000-00000000000a.jsonl")
	if err := os.WriteFile(path, log, 0o600); err != nil {
		return 0, err
	}
	store, err := treeline.New(treeline.Options{Home: dir, WorkDir: dir, Getenv: func(string) string { return "" }})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	src, err := store.Open(ctx, path, treeline.OpenOptions{Dialect: from})
	if err != nil {
		return 0, err
	}
	defer src.Close()
	dst, _, err := store.ConvertSession(ctx, src, convert.Options{To: c.to, Dir: filepath.Join(dir, "out")})
	if err != nil {
		return 0, err
	}
	defer dst.Close()
	return c.compare(ctx, src, dst)
}

// compare compares the request of the program with that of this library.
func (c *conversion) compare(ctx context.Context, src, dst *treeline.Session) (int, error) {
	var theirs []any
	if err := c.peer.ask(struct {
		Op   string `json:"op"`
		Path string `json:"path"`
	}{"sent", dst.Path()}, &theirs); err != nil {
		return 0, err
	}
	seen, err := dst.Context(ctx, dst.Leaf(), treeline.ContextOptions{LLM: true})
	if err != nil {
		return 0, err
	}
	var ours []any
	var calls []string
	var all strings.Builder
	for m, err := range seen.Messages() {
		if err != nil {
			return 0, err
		}
		var v any
		if err := json.Unmarshal(m.JSON, &v); err != nil {
			return 0, err
		}
		ours = append(ours, v)
		all.WriteString(dialect.TextOf(dialect.Prose(dst.MessageParts(m.JSON))) + "\n")
		if calls, err = acceptable(dst, m.JSON, calls); err != nil {
			return 0, err
		}
	}
	if !reflect.DeepEqual(ours, theirs) {
		return 0, fmt.Errorf("%s\nwe send    %s\nit sends   %s", dst.Path(), spell(ours), spell(theirs))
	}
	return len(theirs), missing(ctx, src, squeezed(all.String()))
}

// acceptable returns the calls that the next results may answer, or why a provider would refuse a message.
func acceptable(s *treeline.Session, message []byte, calls []string) ([]string, error) {
	parts := s.MessageParts(message)
	var own []string
	for _, p := range parts {
		switch p := p.(type) {
		case session.ToolCall:
			own = append(own, p.ID)
		case session.ToolResult:
			if !slices.Contains(calls, p.CallID) {
				return nil, fmt.Errorf("%s: a result without its call: %s", s.Path(), message)
			}
		}
	}
	if own != nil {
		calls = own
	}
	if _, results := dialect.Results(parts); results == nil && !dialect.Speaks(parts) {
		return nil, fmt.Errorf("%s: an empty message: %s", s.Path(), message)
	}
	return calls, nil
}

// squeezed returns a text without white space: omp reformats summaries.
func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }

// missing reports a text that the old program sends and that is not among the texts that the new one sends.
func missing(ctx context.Context, src *treeline.Session, sent string) error {
	seen, err := src.Context(ctx, src.Leaf(), treeline.ContextOptions{LLM: true})
	if err != nil {
		return err
	}
	for m, err := range seen.Messages() {
		if err != nil {
			return err
		}
		if src.Dialect().Codec().Role(m.JSON) == session.RoleSystem {
			continue // a text of the agent's own, which each agent makes anew
		}
		for _, p := range src.MessageParts(m.JSON) {
			t, ok := p.(session.Text)
			if !ok {
				continue
			}
			text := t.Text
			if _, inner, ok := strings.Cut(text, "<summary>\n"); ok { // each program surrounds it with words of its own
				text = strings.TrimSuffix(inner, "</summary>")
			}
			if !strings.Contains(sent, squeezed(text)) {
				return fmt.Errorf("%s: %.300q is not sent any more", src.Path(), text)
			}
		}
	}
	return nil
}
