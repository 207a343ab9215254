// Package draft makes random sessions of Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI and Goose from crafted lines:
// conversations as the programs write them, with damage and oddities. The same seed makes the same session.
//
// A session has a few ordinary turns and a few oddities, so that a difference points to its cause.
package draft

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Session is a random session.
type Session struct {
	ID  string
	Log []byte
	// Others are logs that belong beside it, by the names of their files.
	Others map[string][]byte
}

// chance makes random choices.
type chance struct{ rnd *rand.Rand }

func newChance(seed uint64, stream uint64) chance { return chance{rand.New(rand.NewPCG(seed, stream))} }

// one returns true once in n times.
func (c chance) one(n int) bool { return c.rnd.IntN(n) == 0 }

func (c chance) pick(list ...string) string { return list[c.rnd.IntN(len(list))] }

func (c chance) step(list ...func()) { list[c.rnd.IntN(len(list))]() }

// uuid makes an id of the given version.
func (c chance) uuid(version int) string {
	return fmt.Sprintf("%08x-%04x-%d%03x-8%03x-%012x", c.rnd.Uint32(), c.rnd.IntN(1<<16), version, c.rnd.IntN(1<<12), c.rnd.IntN(1<<12), c.rnd.Int64N(1<<48))
}

// dawn is the time at which the sessions begin.
var dawn = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

// stamp formats a time so many milliseconds after the beginning.
func stamp(ms int64) string {
	return dawn.Add(time.Duration(ms) * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
}

// quote encodes a text as JSON.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text has a spelling
	}
	return string(b)
}

// text makes a content, sometimes with quotes, blanks, lines and other scripts. The number distinguishes texts.
func (c chance) text(n int) string {
	return fmt.Sprintf(c.pick("text %d", "text %d", "text %d", "text %d", "\"quoted\" %d", "lines %d\n", "ünïcödé 漢字 😀 %d", "  blanks %d  ", "<b>tag</b> %d"), n)
}

// png is a small picture.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// damage changes lines as a crash, an editor or another program would.
func (c chance) damage(lines []string) []string {
	if len(lines) < 2 {
		return lines
	}
	at := 1 + c.rnd.IntN(len(lines)-1)
	insert := func(line string) []string {
		return append(lines[:at:at], append([]string{line}, lines[at:]...)...)
	}
	switch c.rnd.IntN(8) {
	case 0: // glued
		glued := append(lines[:at-1:at-1], lines[at-1]+c.pick("", " ")+lines[at])
		return append(glued, lines[at+1:]...)
	case 1: // torn in the middle
		torn := append([]string(nil), lines...)
		torn[at] = torn[at][:1+c.rnd.IntN(len(torn[at])-1)]
		return torn
	case 2: // torn and glued to the next
		if at+1 < len(lines) {
			torn := append(lines[:at:at], lines[at][:len(lines[at])/2]+lines[at+1])
			return append(torn, lines[at+2:]...)
		}
	case 3: // removed
		return append(lines[:at:at], lines[at+1:]...)
	case 4: // swapped
		if at+1 < len(lines) {
			swapped := append([]string(nil), lines...)
			swapped[at], swapped[at+1] = swapped[at+1], swapped[at]
			return swapped
		}
	case 5: // duplicated
		return insert(lines[c.rnd.IntN(len(lines)-1)+1])
	case 6: // not a record
		return insert(c.pick("", "   ", "null", "42", `"text"`, "[]", "[{}]", "{", "{}", "not json", `{"type":42}`, "\x00\x00"))
	}
	return lines
}

// join ends the lines. The last may lack its newline or be torn.
func (c chance) join(lines []string) []byte {
	end := "\n"
	if c.one(30) {
		end = "\r\n"
	}
	text := strings.Join(lines, end) + end
	switch c.rnd.IntN(30) {
	case 0:
		text = strings.TrimRight(text, "\r\n")
	case 1:
		text += lines[len(lines)-1][:len(lines[len(lines)-1])/2]
	}
	return []byte(text)
}
