package draft

import (
	"fmt"
	"strings"
)

// gemini is the state of making a session of Gemini CLI.
type gemini struct {
	chance
	id    string
	lines []string
	ids   []string // of the messages so far
	n     int
}

// Gemini makes a session of Gemini CLI: messages that are written again, taken back and replaced, and odd ones.
func Gemini(seed uint64) Session {
	g := &gemini{chance: newChance(seed, 3)}
	g.id = g.uuid(4)
	g.header()
	for range 2 + g.rnd.IntN(5) {
		g.prompt()
		g.step(g.answer, g.answer, g.answer, g.call, g.call, g.odd)
		g.step(func() {}, func() {}, func() {}, g.rewind, g.replace, g.again, g.note, g.header)
	}
	if g.one(4) {
		g.lines = g.damage(g.lines)
	}
	return Session{ID: g.id, Log: g.join(g.lines)}
}

func (g *gemini) line(format string, args ...any) {
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
}

func (g *gemini) header() {
	g.line(`{"sessionId":"%s","projectHash":"x","startTime":"%s","lastUpdated":"%s","kind":"main"}`, g.id, stamp(0), stamp(int64(g.n)))
}

// message writes a message and returns its id.
func (g *gemini) message(id, typ, content, more string) string {
	g.n++
	if id == "" {
		id = fmt.Sprintf("m%d", g.n)
		g.ids = append(g.ids, id)
	}
	g.line(`{"id":"%s","timestamp":"%s","type":"%s","content":%s%s}`, id, stamp(int64(g.n)*1000), typ, content, more)
	if g.one(2) {
		g.line(`{"$set":{"lastUpdated":"%s"}}`, stamp(int64(g.n)*1000))
	}
	return id
}

func (g *gemini) parts(texts ...string) string {
	var list []string
	for _, t := range texts {
		list = append(list, `{"text":`+quote(t)+`}`)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (g *gemini) said() string { return g.text(g.n) }

func (g *gemini) prompt() {
	g.step(
		func() { g.message("", "user", g.parts(g.said()), "") },
		func() { g.message("", "user", g.parts(g.said()), "") },
		func() { g.message("", "user", quote(g.said()), "") },
		func() { g.message("", "user", g.parts(g.said(), "and more"), "") },
		func() { g.message("", "user", `{"text":`+quote(g.said())+`}`, "") },
		func() {
			g.message("", "user", g.parts(g.pick("/help", "?", "", "  ", " /x", "<hook_context>h", "<session_context>s")), "")
		},
		func() {
			g.message("", "user", `[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"`+png+`"}}]`, "")
		},
	)
}

func (g *gemini) answer() {
	thoughts := g.pick("", `,"thoughts":[]`, `,"thoughts":[{"subject":"S","description":"D"}]`, `,"thoughts":[{"description":"D"}]`)
	g.step(
		func() { g.message("", "gemini", quote(g.said()), thoughts) },
		func() { g.message("", "gemini", g.parts(g.said()), thoughts) },
		func() {
			g.message("", "gemini", `[{"text":"hm","thought":true},{"text":`+quote(g.said())+`}]`, thoughts)
		},
	)
}

// call writes an answer with calls: their results are with them, in a message of their own, in both, or missing.
func (g *gemini) call() {
	var calls, results []string
	inside, beside := g.one(2), g.one(2)
	for k := range 1 + g.rnd.IntN(2) {
		id := fmt.Sprintf("%sc%d-%d", g.pick("read_file__", ""), g.n, k)
		result := fmt.Sprintf(`{"functionResponse":{"id":"%s","name":"read_file","response":{"%s":%s}}}`, id, g.pick("output", "output", "error"), quote(g.said()))
		call := fmt.Sprintf(`{"id":"%s","name":"read_file","args":{"n":%d},"status":"success"`, id, k)
		switch {
		case inside && g.one(4):
			call += `,"result":` + quote(g.said())
		case inside:
			call += `,"result":[` + result + `]`
		}
		calls, results = append(calls, call+`}`), append(results, result)
	}
	content := g.pick(`""`, quote(g.said()), g.parts(g.said()))
	id := g.message("", "gemini", content, "")
	g.message(id, "gemini", content, `,"toolCalls":[`+strings.Join(calls, ",")+`]`)
	if beside {
		g.message("", "user", "["+strings.Join(results, ",")+"]", "")
	}
	if g.one(3) {
		g.answer()
	}
}

func (g *gemini) odd() {
	g.step(
		func() { g.message("", g.pick("info", "error", "warning", "future"), quote(g.said()), "") },
		func() { g.message("", "gemini", `[{"text":""}]`, "") },
		func() { g.message("", "gemini", `""`, "") },
		func() { g.message("", "gemini", `[]`, `,"thoughts":[{"subject":"S","description":"D"}]`) },
		func() { g.message("", "gemini", `[{"functionCall":{"name":"x","args":{"a":1}}}]`, "") },
		func() { g.message("", "user", `[{"functionResponse":{"name":"x","response":{"output":"o"}}}]`, "") },
		func() { g.message("", "user", `[]`, "") },
		func() { g.message("", "user", `[{"text":"`+"\u2028"+`break"}]`, "") },
		func() { g.line(`{"unknown":1}`) },
		g.odder, g.odder, g.odder,
	)
}

// odder writes what the program does not write.
func (g *gemini) odder() {
	said, id := quote(g.said()), g.ids[g.rnd.IntN(len(g.ids))]
	g.step(
		func() { g.line(`{"timestamp":"%s","type":"user","content":%s}`, stamp(1), said) },
		func() { g.line(`{"id":42,"timestamp":"%s","type":"user","content":%s}`, stamp(1), said) },
		func() { g.line(`{"id":"n%d","timestamp":"%s","content":%s}`, g.n, stamp(1), said) },
		func() { g.message("", g.pick("user", "gemini"), g.pick("null", "42", "{}", "[null]", `[[]]`), "") },
		func() { g.message("", g.pick("user", "gemini"), `[`+said+`,{"text":"part"}]`, "") },
		func() { g.message("", "gemini", `[{"text":`+said+`,"thoughtSignature":"s"}]`, "") },
		func() {
			g.message("", "user", `[{"text":"see"},{"fileData":{"mimeType":"image/png","fileUri":"gs://x/y.png"}}]`, "")
		},
		func() { g.message("", "user", `[{"text":`+said+`,"thought":true}]`, "") },
		func() {
			g.message("", "gemini", `""`, fmt.Sprintf(`,"toolCalls":[{"id":"k%d","name":"x","args":{},"status":"%s"}]`, g.n, g.pick("error", "cancelled", "executing")))
		},
		func() {
			g.message("", "gemini", said, `,"toolCalls":`+g.pick(`null`, `[]`, `[{"name":"x"}]`, `[{"id":"k","name":"x","args":null,"result":null}]`, `[{"id":"k","name":"x","args":{},"result":{"text":"r"}}]`, `[{"id":"k","name":"x","args":{},"result":[{"text":"r"}]}]`))
		},
		func() {
			g.message("", "user", `[{"functionResponse":{"id":"k","name":"x","response":{"output":"o"}}},{"text":`+said+`}]`, "")
		},
		func() { g.message("", "user", said, `,"displayContent":"shown"`) },
		func() {
			g.line(`{"$set":%s}`, g.pick("null", `{}`, `{"messages":null}`, `{"messages":[]}`, `{"messages":{}}`, `{"sessionId":"other"}`, `{"kind":"subagent"}`, `{"summary":42}`))
		},
		func() { g.line(`{"$rewindTo":%s}`, g.pick("null", "42", `""`)) },
		func() { g.line(`{"id":"%s","$rewindTo":"%s","type":"user","content":%s}`, id, id, said) },
		func() {
			g.line(`{"id":"%s","$set":{"messages":[]},"timestamp":"%s","type":"user","content":%s}`, id, stamp(1), said)
		},
	)
}

func (g *gemini) rewind() {
	at := g.rnd.IntN(len(g.ids))
	if g.one(8) {
		g.line(`{"$rewindTo":"nothing"}`)
		return
	}
	g.line(`{"$rewindTo":"%s"}`, g.ids[at])
}

// replace replaces all messages: by some known ones, and new ones.
func (g *gemini) replace() {
	var list []string
	for _, id := range g.ids {
		if !g.one(3) {
			list = append(list, fmt.Sprintf(`{"id":"%s","timestamp":"%s","type":"%s","content":%s}`, id, stamp(1), g.pick("user", "gemini"), g.parts("again "+id)))
		}
	}
	if g.one(2) {
		g.n++
		list = append([]string{fmt.Sprintf(`{"id":"s%d","timestamp":"%s","type":"user","content":%s}`, g.n, stamp(2), g.parts("SUMMARY"))}, list...)
	}
	g.line(`{"$set":{"messages":[%s]}}`, strings.Join(list, ","))
}

func (g *gemini) again() {
	g.message(g.ids[g.rnd.IntN(len(g.ids))], g.pick("user", "gemini"), g.parts("changed "+g.said()), "")
}

func (g *gemini) note() { g.line(`{"$set":{"summary":"A title"}}`) }
