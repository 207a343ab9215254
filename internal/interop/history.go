package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/history"
)

// compareHistory makes the comparison "history", in both orders: the program that creates the database decides its pragmas and
// its schema.
func compareHistory(ctx context.Context, opt options) error {
	for _, maker := range []string{"this library", "oh-my-pi"} {
		dir := filepath.Join(opt.work, "history", maker)
		p, err := omp13.start(opt, dir)
		if err != nil {
			return err
		}
		h := &historian{peer: p, rnd: rand.New(rand.NewPCG(opt.seed, 2)), home: dir, opt: history.Options{
			State: treeline.StateDir(dir, func(string) string { return "" }), DB: filepath.Join(dir, ".omp", "agent", "history.db"),
		}}
		err = h.run(ctx, opt.queries, maker == "oh-my-pi")
		p.stop()
		if err != nil {
			return fmt.Errorf("seed %d, %s created the database: %w", opt.seed, maker, err)
		}
		fmt.Printf("interop: a history of %d prompts, created by %s: %s and this library add to it and find the same (%d questions)\n",
			h.prompts, maker, p.name, h.asked)
	}
	return nil
}

// historian tests two programs that use one history.db.
type historian struct {
	peer    *peer
	rnd     *rand.Rand
	home    string
	opt     history.Options
	prompts int // in the database
	asked   int
}

// run asks both programs the same after each change, so that a difference is found where it arises.
func (h *historian) run(ctx context.Context, queries int, theirsFirst bool) error {
	const many = 1100 // more than the maximum of an answer
	first, then := h.ours, h.theirs
	if theirsFirst {
		first, then = then, first
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"first", func() error { return errors.Join(first(ctx, h.texts("first", many)), h.openTheirs()) }},
		{"then", func() error { return then(ctx, h.texts("then", 50)) }},
		{"concurrently", func() error { return h.atOnce(ctx, 200) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("add, %s: %w", step.what, err)
		}
		if err := h.compare(ctx, queries/3); err != nil {
			return fmt.Errorf("compare, %s: %w", step.what, err)
		}
	}
	return h.complaints()
}

// ours adds prompts with this library. Closing writes them to disk.
func (h *historian) ours(ctx context.Context, prompts []string) error {
	db, err := history.Open(ctx, h.opt)
	if err != nil {
		return err
	}
	for _, p := range prompts {
		if err := db.Add(p, h.home); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	h.prompts += len(prompts)
	return db.Close()
}

// theirs adds prompts with the agent, which answers when they are queued. Later commands wait for its write.
func (h *historian) theirs(_ context.Context, prompts []string) error {
	if err := h.openTheirs(); err != nil {
		return err
	}
	h.prompts += len(prompts)
	var none any
	return h.peer.ask(historyCommand{Op: "add", Prompts: prompts, CWD: h.home}, &none)
}

// openTheirs makes the agent open the database, which it does once.
func (h *historian) openTheirs() error {
	var none any
	return h.peer.ask(historyCommand{Op: "history", Path: h.opt.DB}, &none)
}

// historyCommand is a command for the agent.
type historyCommand struct {
	Op      string   `json:"op"`
	Path    string   `json:"path,omitempty"`
	Prompts []string `json:"prompts,omitempty"`
	CWD     string   `json:"cwd,omitempty"`
	Query   string   `json:"query"`
	Limit   int      `json:"limit"`
}

// atOnce makes both sides add n prompts each at the same time: the agent, a goroutine that keeps the database open as an agent does, and
// one that opens it for each prompt as the command line does.
func (h *historian) atOnce(ctx context.Context, n int) error {
	theirs, kept, opened := h.texts("theirs", n), h.texts("kept", n/2), h.texts("opened", n-n/2)
	if err := h.peer.send(historyCommand{Op: "add", Prompts: theirs, CWD: h.home}); err != nil {
		return err
	}
	var wg sync.WaitGroup
	var keptErr, openedErr error
	wg.Go(func() {
		db, err := history.Open(ctx, h.opt)
		if err != nil {
			keptErr = err
			return
		}
		for _, p := range kept {
			keptErr = errors.Join(keptErr, db.Add(p, ""), db.Flush(ctx))
		}
		keptErr = errors.Join(keptErr, db.Close())
	})
	wg.Go(func() {
		for _, p := range opened {
			openedErr = errors.Join(openedErr, history.Add(ctx, h.opt, p, ""))
		}
	})
	wg.Wait()
	var none any
	if err := errors.Join(keptErr, openedErr, h.peer.receive(&none)); err != nil {
		return err
	}
	h.prompts += 2 * n
	// Each prompt is found by its first word, which no other prompt has.
	for _, p := range slices.Concat(theirs, kept, opened) {
		found, err := history.Search(ctx, h.opt, history.Query{Text: firstWord(p), Limit: 1000})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found, func(f history.Prompt) bool { return f.Text == p }) {
			return fmt.Errorf("%q is lost", p)
		}
	}
	return nil
}

// complaints returns an error of the history that the agent only wrote to its log.
func (h *historian) complaints() error {
	return filepath.WalkDir(h.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".log") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "HistoryStorage") {
				return fmt.Errorf("the agent's log says: %s", line)
			}
		}
		return nil
	})
}

// historyWords are words in which tokenizers, quoting and case folding differ: composed and decomposed letters, scripts without
// spaces, operators of FTS5.
var historyWords = []string{"fix", "fixed", "fixes", "the", "parser", "Parser", "PARSER", "test", "tests", "naïve", "naive", "café", "cafe\u0301", "漢字", "漢", "日本語", "かな",
	"한국어", "a_b", "a-b", "a.b", "foo/bar.go", "C++", "don't", "\"quoted\"", "(x)", "AND", "OR", "NOT", "NEAR", "NEAR(a", "*", "fix*", "^fix", "prompt:", "-fix", "+", "😀",
	"x😀y", "--flag", "100%", "{json:1}", "'", "\"", "\\", "ß", "straße", "İ", "I", "ǆ", "ﬁ", "１２", "12", "user@host", "#tag", "`code`", ";", "\u200b", "\u00a0", "a\u00a0b"}

// texts returns prompts that begin with different words.
func (h *historian) texts(about string, n int) []string {
	list := make([]string, n)
	for i := range list {
		words := []string{fmt.Sprintf("%s%d%s", about, i, strings.Repeat("z", h.rnd.IntN(3)))}
		for range h.rnd.IntN(6) {
			words = append(words, historyWords[h.rnd.IntN(len(historyWords))])
		}
		text := strings.Join(words, []string{" ", " ", "\n", "\t", "\u3000", ", "}[h.rnd.IntN(6)])
		list[i] = strings.TrimSpace(strings.TrimRight(text, "\u200b\u00a0\u3000 "))
	}
	return list
}

func firstWord(s string) string {
	return s[:strings.IndexFunc(s+" ", func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })]
}

// query returns a query: a quarter look like syntax, the others are prefixes of words that occur.
func (h *historian) query() string {
	if h.rnd.IntN(4) == 0 {
		return []string{"f", "fi", "t", "th", "first1", "then", "fix the", "漢 の", "NEAR(fix the, 2)", "fix AND test", "fix OR test", "prompt : fix", "\"fix the\"", "fix*", "a b c",
			"  the  ", "\t", "", "*", "\"", "\"\"", "' OR 1=1 --", "fi* te*", "{", "first first1", "z"}[h.rnd.IntN(26)]
	}
	words := make([]string, 1+h.rnd.IntN(3))
	for i := range words {
		word := []rune(historyWords[h.rnd.IntN(len(historyWords))])
		words[i] = string(word[:1+h.rnd.IntN(len(word))])
	}
	return strings.Join(words, []string{" ", "  ", "\t", "\n", "\u3000", "\ufeff"}[h.rnd.IntN(6)])
}

// found is a prompt in an answer of the agent.
type found struct {
	ID        int64
	Prompt    string
	CreatedAt int64 `json:"created_at"`
	CWD       string
}

// compare asks both sides the same. It compares ids and times as well.
func (h *historian) compare(ctx context.Context, queries int) error {
	for i := range queries {
		limit := []int{1, 3, 50, 1000, 2000}[h.rnd.IntN(5)]
		c := historyCommand{Op: "search", Query: h.query(), Limit: limit}
		if i == 0 || strings.TrimSpace(c.Query) == "" { // the agent has another method for the newest
			c.Op, c.Query = "recentPrompts", ""
		}
		var theirs []found
		if err := h.peer.ask(c, &theirs); err != nil {
			return err
		}
		list, err := history.Search(ctx, h.opt, history.Query{Text: c.Query, Limit: limit})
		if err != nil {
			return fmt.Errorf("%q: %w", c.Query, err)
		}
		ours := make([]found, len(list))
		for i, p := range list {
			ours[i] = found{p.ID, p.Text, p.At.Unix(), p.CWD}
		}
		if !slices.Equal(ours, theirs) {
			return fmt.Errorf("%q, limit %d: we find %d: %.300s\nit finds %d: %.300s", c.Query, limit, len(ours), spell(ours), len(theirs), spell(theirs))
		}
		h.asked++
	}
	var last []found
	if err := h.peer.ask(historyCommand{Op: "recentPrompts", Limit: 1}, &last); err != nil {
		return err
	}
	if len(last) != 1 || last[0].ID < int64(h.prompts) || time.Since(time.Unix(last[0].CreatedAt, 0)) > time.Hour {
		return fmt.Errorf("the last of %d prompts is %s", h.prompts, spell(last))
	}
	return nil
}
