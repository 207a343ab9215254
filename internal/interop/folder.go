package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folders makes random folders of sessions: whole ones, forks, old versions, damaged ones and other files. The seed determines
// each folder; errors name it.
type folders struct {
	rnd   *rand.Rand
	made  int
	pi    bool     // the agent is pi, which like this library follows symbolic links and reads headers of any length
	last  []string // the records of the last session, for forks
	times []time.Time
}

func newFolders(seed uint64, pi bool) *folders {
	f := &folders{rnd: rand.New(rand.NewPCG(seed, 1)), pi: pi}
	// Few times, so that some are equal; some differ by less than a millisecond.
	for range 6 {
		at := time.UnixMilli(1_771_236_000_000 + f.rnd.Int64N(1e9))
		f.times = append(f.times, at, at.Add(time.Duration(f.rnd.IntN(1e6))).Truncate(time.Microsecond), at.Add(time.Hour))
	}
	return f
}

func (f *folders) in(n int) bool { return f.rnd.IntN(n) == 0 } // true one time in n

func pick[T any](f *folders, list ...T) T { return list[f.rnd.IntN(len(list))] }

// fill puts sessions of working directories into a folder. There are few different times, because lists differ in the order of
// equal ones.
func (f *folders) fill(dir string, cwds ...string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for range f.rnd.IntN(8) {
		text := f.log(pick(f, cwds...))
		name := fmt.Sprintf("%s_%016x.jsonl", strings.NewReplacer(":", "-", ".", "-").Replace(f.iso()), f.rnd.Uint64())
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		at := pick(f, f.times...)
		if err := os.Chtimes(path, at, at); err != nil {
			return err
		}
	}
	return f.litter(dir, cwds...)
}

// litter adds files that are not sessions, or must not count twice: copies, backups, folders with odd names.
func (f *folders) litter(dir string, cwds ...string) error {
	for _, name := range []string{
		"notes.txt", "session.json", "session.jsonl.bak", "2026-02-16T10-00-00-000Z_sub/0-task.jsonl", "folder.jsonl/inside.txt",
		"folder.jsonl/inner.jsonl", ".hidden.jsonl", "target.log",
	} {
		if !f.in(8) {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.log(cwds[0])), 0o600); err != nil {
			return err
		}
		if name == "target.log" && f.pi {
			if err := os.Symlink(name, filepath.Join(dir, "link.jsonl")); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}

func (f *folders) iso() string {
	return pick(f, f.times...).Add(time.Duration(f.rnd.IntN(1000)) * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
}

// log returns the text of one session. A third are damaged or odd.
func (f *folders) log(cwd string) string {
	f.made++
	switch f.rnd.IntN(24) {
	case 0:
		return ""
	case 1:
		return "\n\n"
	case 2: // no header
		return f.message("user") + "\n" + f.message("assistant") + "\n"
	case 3:
		return "not a session\n" + f.header(cwd, 3) + "\n"
	case 4:
		return f.header(cwd, 3) + "\n"
	case 5:
		return f.header(cwd, 3) // an unterminated line
	case 6:
		return `{"type":"session","version":3,"id":"","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/x"}` + "\n"
	case 7:
		h := f.header(cwd, 3)
		return h[:f.rnd.IntN(len(h))]
	}
	version := pick(f, 1, 2, 3, 3, 3, 3, 99) // 99 does not exist yet
	records := []string{f.header(cwd, version)}
	if len(f.last) > 0 && f.in(6) { // a fork has the same records
		records = append(records, f.last...)
	} else {
		for range f.rnd.IntN(12) {
			records = append(records, f.record())
		}
	}
	f.last = records[1:]
	// whole, unterminated, torn, with blank lines, with NULs
	end := pick(f, "\n", "\n", "\n", "\n", "", "\n{\"type\":\"mess", "\n\n \n", "\n\x00\x00\x00")
	return strings.Join(records, pick(f, "\n", "\n", "\n", "\r\n", "\n\n")) + end
}

// header returns a header, which may lack a member or have an odd one.
func (f *folders) header(cwd string, version int) string {
	members := []string{`"type":"session"`}
	if version > 1 {
		members = append(members, fmt.Sprintf(`"version":%d`, version))
	}
	at := spell(f.iso())
	members = append(members, fmt.Sprintf(`"id":"%016x"`, f.rnd.Uint64()),
		`"timestamp":`+pick(f, at, at, at, at, `"2026-02-16T10:00:00Z"`, `"not a time"`, "null"))
	if !f.in(12) {
		members = append(members, `"cwd":`+spell(cwd))
	}
	if f.in(3) {
		members = append(members, `"title":`+spell(f.title()))
	}
	if f.in(20) {
		members = append(members, `"title":null`)
	}
	if f.in(5) {
		members = append(members, `"parentSession":`+pick(f, `"0123456789abcdef"`, `"/home/me/.pi/agent/sessions/x/y.jsonl"`, "null", `""`))
	}
	if f.pi && f.in(15) {
		members = append(members, `"extra":`+spell(strings.Repeat("long header ", 100+f.rnd.IntN(500))))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// title returns the name of a session. The programs cut names at 39 or 40 UTF-16 units, so some lengths are around these, with surrogate
// pairs across the cut.
func (f *folders) title() string {
	return pick(f, "Fix the parser", "", "  ", "\n", "two\nlines", "\r\nsecond", "tab\tand\x1b[31mescape\x7f", "漢字の題名", strings.Repeat("0123456789", 4),
		strings.Repeat("0123456789", 4)+"!", strings.Repeat("é", 45), strings.Repeat("x", 38)+"😀😀", strings.Repeat("x", 37)+"😀😀😀", "\u00a0padded\ufeff")
}

// prompt returns the text of a user message.
func (f *folders) prompt() string {
	return pick(f, "Hello", "fix the tests, please", "/compact now", "!ls -la", "", " ", "lines\nand\nlines", "\n\nlate", "with \"quotes\"", "漢字 😀", "\u2028x",
		strings.Repeat("a very long prompt ", 30+f.rnd.IntN(400)), "\x00\x01", f.title())
}

// message returns a message. Its timestamp may be missing, a text or a fraction: the programs compare timestamps as JavaScript does.
func (f *folders) message(role string) string {
	text := func() string { return `{"type":"text","text":` + spell(f.prompt()) + `}` }
	content := spell(f.prompt())
	if role == "assistant" || f.in(2) {
		var blocks []string
		for range f.rnd.IntN(4) {
			blocks = append(blocks, pick(f, text(), text(), `{"type":"image","data":"AAAA","mimeType":"image/png"}`, `{"type":"thinking","thinking":"hm"}`,
				`{"type":"toolCall","id":"c","name":"bash","arguments":{}}`))
		}
		content = "[" + strings.Join(blocks, ",") + "]"
	}
	members := []string{fmt.Sprintf(`"role":%q`, role), `"content":` + content}
	if role == "assistant" {
		members = append(members, `"provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"cost":{"total":0}}`)
	}
	if !f.in(6) {
		members = append(members, fmt.Sprintf(`"timestamp":%s`, pick(f, f.millis(), f.millis(), f.millis(), `"2026"`, "null", "0", f.millis()+".5")))
	}
	return fmt.Sprintf(`{"type":"message","id":"%08x","parentId":null,"timestamp":%s,"message":{%s}}`, f.rnd.Uint32(), spell(f.iso()), strings.Join(members, ","))
}

func (f *folders) millis() string { return fmt.Sprint(pick(f, f.times...).UnixMilli()) }

// record returns a record of a kind that counts in a list, of one that does not, or a torn one.
func (f *folders) record() string {
	head := func(kind string) string {
		return fmt.Sprintf(`{"type":%q,"id":"%08x","parentId":null,"timestamp":%s`, kind, f.rnd.Uint32(), spell(f.iso()))
	}
	switch f.rnd.IntN(22) {
	case 0, 1:
		return head("session_info") + `,"name":` + spell(f.title()) + "}"
	case 2, 3:
		short := pick(f, "", `,"shortSummary":`+spell(f.title()), `,"shortSummary":null`)
		return head("compaction") + `,"summary":"all"` + short + `,"firstKeptEntryId":"x","tokensBefore":5}`
	case 4:
		return head("label") + `,"targetId":"x","label":"here"}`
	case 5:
		return head("custom_message") + `,"customType":"x","content":` + spell(f.prompt()) + `,"display":true}`
	case 6:
		return head("model_change") + `,"model":"a/b","provider":"a","modelId":"b"}`
	case 7:
		return `{"type":"message","bro`
	case 8:
		return f.message(pick(f, "toolResult", "bashExecution", "hookMessage", "custom", "system"))
	case 9:
		return head("session_info") + "}"
	case 10:
		return head("branch_summary") + `,"fromId":"x","summary":"there"}`
	case 11:
		return head("custom") + `,"customType":"x","data":{"message":{"role":"user","content":"not a message"}}}`
	case 12, 13, 14, 15:
		return f.message("assistant")
	}
	return f.message("user")
}

// spell encodes a value as JSON, or returns the error as a text: it is mostly used in messages.
func spell(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
