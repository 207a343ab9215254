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

// compareHistory makes the comparison "history".
// Both orders are tried: who makes the database decides its pragmas and its schema, and the other must be content
// with them.
func compareHistory(ctx context.Context, opt options) error {
	for _, theirsFirst := range []bool{false, true} {
		dir := filepath.Join(opt.work, "history", fmt.Sprint(theirsFirst))
		db := filepath.Join(dir, ".omp", "agent", "history.db")
		p, err := omp13.start(opt, dir)
		if err != nil {
			return err
		}
		h := &historian{peer: p, rnd: rand.New(rand.NewPCG(opt.seed, 2)), home: dir, opt: history.Options{
			State: treeline.StateDir(dir, func(string) string { return "" }), DB: db,
		}}
		err = h.run(ctx, opt.queries, theirsFirst)
		p.stop()
		if err != nil {
			return fmt.Errorf("seed %d, %s made the database: %w", opt.seed, map[bool]string{true: "oh-my-pi", false: "this library"}[theirsFirst], err)
		}
		fmt.Printf("interop: a history of %d prompts, made by %s: %s and this library add to it, at once too, and find the same (%d questions)\n",
			h.prompts, map[bool]string{true: "the former", false: "the latter"}[theirsFirst], p.name, h.asked)
	}
	return nil
}

// historian has two programs use one history.db.
type historian struct {
	peer    *peer
	rnd     *rand.Rand
	home    string
	opt     history.Options
	prompts int // that are in the database
	asked   int
}

// After each change both are asked the same, so a difference is found where it arises.
func (h *historian) run(ctx context.Context, queries int, theirsFirst bool) error {
	const many = 1100 // more than an answer has at most
	first, then := h.ours, h.theirs
	if theirsFirst {
		first, then = then, first
	}
	if err := first(ctx, h.texts("first", many)); err != nil {
		return err
	}
	if err := h.openTheirs(); err != nil {
		return err
	}
	if err := h.compare(ctx, queries/3); err != nil {
		return fmt.Errorf("of what the first wrote: %w", err)
	}
	if err := then(ctx, h.texts("then", 50)); err != nil {
		return err
	}
	if err := h.compare(ctx, queries/3); err != nil {
		return fmt.Errorf("when the other had added some: %w", err)
	}
	if err := h.atOnce(ctx, 200); err != nil {
		return fmt.Errorf("at once: %w", err)
	}
	if err := h.compare(ctx, queries/3); err != nil {
		return fmt.Errorf("when both had added some: %w", err)
	}
	return h.complaints()
}

// ours adds prompts with this library.
// Opened and closed: what the agent finds must be on disk by then.
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

// theirs adds prompts with the agent.
// The answer comes when the agent has queued the prompts, so questions that follow wait for its write.
func (h *historian) theirs(_ context.Context, prompts []string) error {
	if err := h.openTheirs(); err != nil {
		return err
	}
	h.prompts += len(prompts)
	var none any
	return h.peer.ask(historyCommand{Op: "add", Prompts: prompts, CWD: h.home}, &none)
}

// openTheirs has the agent open the database. It opens it once.
func (h *historian) openTheirs() error {
	var none any
	return h.peer.ask(historyCommand{Op: "history", Path: h.opt.DB}, &none)
}

// historyCommand is what the agent is asked.
type historyCommand struct {
	Op      string   `json:"op"`
	Path    string   `json:"path,omitempty"`
	Prompts []string `json:"prompts,omitempty"`
	CWD     string   `json:"cwd,omitempty"`
	Query   string   `json:"query"`
	Limit   int      `json:"limit"`
}

// atOnce has both sides add n prompts each at the same time: the agent, somebody of ours who keeps the database open, and one who
// opens it for each prompt.
// The two of ours are the two ways in which it is used: by an agent that keeps it open, and by 'treeline history
// add'.
func (h *historian) atOnce(ctx context.Context, n int) error {
	theirs, kept, opened := h.texts("theirs", n), h.texts("kept", n/2), h.texts("opened", n-n/2)
	if err := h.peer.send(historyCommand{Op: "add", Prompts: theirs, CWD: h.home}); err != nil {
		return err
	}
	var wg sync.WaitGroup
	wrong := make(chan error, 2)
	wg.Go(func() {
		db, err := history.Open(ctx, h.opt)
		// errors are kept and not returned, since a goroutine has nobody to return to
		for _, p := range kept {
			if err == nil {
				err = errors.Join(db.Add(p, ""), db.Flush(ctx))
			}
		}
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		wrong <- err
	})
	wg.Go(func() {
		for _, p := range opened {
			if err := history.Add(ctx, h.opt, p, ""); err != nil {
				wrong <- err
				return
			}
		}
		wrong <- nil
	})
	wg.Wait()
	var none any
	if err := errors.Join(<-wrong, <-wrong, h.peer.receive(&none)); err != nil {
		return err
	}
	h.prompts += 2 * n
	// Each prompt begins with a word of its own, by which it can be found among a thousand.
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

// complaints are errors that the agent wrote into its log and told nobody.
// The agent only logs such errors, so nothing else would show that a prompt was lost.
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

// Words in which tokenizers, quoting and case folding differ most: composed and decomposed letters, scripts
// without spaces, operators of FTS5.
var historyWords = []string{"fix", "fixed", "fixes", "the", "parser", "Parser", "PARSER", "test", "tests", "naïve", "naive", "café", "cafe\u0301", "漢字", "漢", "日本語", "かな",
	"한국어", "a_b", "a-b", "a.b", "foo/bar.go", "C++", "don't", "\"quoted\"", "(x)", "AND", "OR", "NOT", "NEAR", "NEAR(a", "*", "fix*", "^fix", "prompt:", "-fix", "+", "😀",
	"x😀y", "--flag", "100%", "{json:1}", "'", "\"", "\\", "ß", "straße", "İ", "I", "ǆ", "ﬁ", "１２", "12", "user@host", "#tag", "`code`", ";", "\u200b", "\u00a0", "a\u00a0b"}

// texts are prompts that are all different: each begins with a word of its own.
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

// query is something to look for.
// A quarter are whole queries that look like syntax; the others beginnings of words that are there.
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

// found is a prompt as the agent tells it.
type found struct {
	ID        int64
	Prompt    string
	CreatedAt int64 `json:"created_at"`
	CWD       string
}

// compare asks both sides the same.
// Ids and times are compared, too: both read the same rows.
func (h *historian) compare(ctx context.Context, queries int) error {
	for i := range queries {
		limit := []int{1, 3, 50, 1000, 2000}[h.rnd.IntN(5)]
		c := historyCommand{Op: "search", Query: h.query(), Limit: limit}
		if i == 0 || strings.TrimSpace(c.Query) == "" { // without words we give the newest, the agent has another method for that
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
	// All of them are there.
	var last []found
	if err := h.peer.ask(historyCommand{Op: "recentPrompts", Limit: 1}, &last); err != nil {
		return err
	}
	if len(last) != 1 || last[0].ID < int64(h.prompts) || time.Since(time.Unix(last[0].CreatedAt, 0)) > time.Hour {
		return fmt.Errorf("the last of %d prompts is %s", h.prompts, spell(last))
	}
	return nil
}
