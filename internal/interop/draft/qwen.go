package draft

import (
	"fmt"
	"strings"
)

// qwen is the state of making a session of Qwen Code.
type qwen struct {
	chance
	id    string
	lines []string
	ids   []string
	last  string
	n     int
}

// Qwen makes a session of Qwen Code: a tree with branches, compressions, pieces of records and odd lines.
func Qwen(seed uint64) Session {
	q := &qwen{chance: newChance(seed, 4)}
	q.id = q.uuid(4)
	for range 2 + q.rnd.IntN(5) {
		q.prompt()
		q.step(q.answer, q.answer, q.answer, q.call, q.call, q.odd)
		q.step(func() {}, func() {}, func() {}, q.branch, q.rewind, q.compress, q.title, q.piece, q.artifact)
	}
	if q.one(4) {
		q.lines = q.damage(q.lines)
	}
	return Session{ID: q.id, Log: q.join(q.lines)}
}

// CWD is the placeholder for the working directory in sessions of Qwen Code, which can be resumed only there.
const CWD = "@CWD@"

// line writes a line after the last one and returns its uuid.
func (q *qwen) line(uuid, typ, more string) string {
	q.n++
	parent := "null"
	if q.last != "" {
		parent = `"` + q.last + `"`
	}
	if uuid == "" {
		uuid = fmt.Sprintf("m%d", q.n)
	}
	q.lines = append(q.lines, fmt.Sprintf(`{"uuid":"%s","parentUuid":%s,"sessionId":"%s","timestamp":"%s","type":"%s","cwd":"%s","version":"0.24.4"%s}`,
		uuid, parent, q.id, stamp(int64(q.n)*1000), typ, CWD, more))
	return uuid
}

func (q *qwen) next(typ, more string) {
	q.last = q.line("", typ, more)
	q.ids = append(q.ids, q.last)
}

func (q *qwen) message(typ, role string, parts ...string) {
	q.next(typ, `,"message":{"role":"`+role+`","parts":[`+strings.Join(parts, ",")+`]}`)
}

func (q *qwen) said() string { return `{"text":` + quote(q.text(q.n)) + `}` }

func (q *qwen) prompt() {
	q.step(
		func() { q.message("user", "user", q.said()) },
		func() { q.message("user", "user", q.said()) },
		func() { q.message("user", "user", q.said(), q.said()) },
		func() {
			q.next("user", `,"subtype":"`+q.pick("mid_turn_user_message", "realtime_message", "cron", "future")+`","message":{"role":"user","parts":[`+q.said()+`]}`)
		},
		func() {
			q.message("user", "user", `{"text":"look"}`, `{"inlineData":{"mimeType":"image/png","data":"`+png+`"}}`)
		},
	)
}

func (q *qwen) answer() {
	if q.one(3) {
		q.next("system", `,"subtype":"ui_telemetry","systemPayload":{"uiEvent":{}}`)
	}
	q.step(
		func() { q.message("assistant", "model", q.said()) },
		func() { q.message("assistant", "model", q.said(), q.said()) },
		func() { q.message("assistant", "model", `{"text":"hm","thought":true}`, q.said()) },
	)
}

// call writes an answer with calls, and results in one line or several, some of them missing, late or twice.
func (q *qwen) call() {
	var calls, results []string
	for k := range 1 + q.rnd.IntN(3) {
		id := fmt.Sprintf("c%d-%d", q.n, k)
		calls = append(calls, fmt.Sprintf(`{"functionCall":{"id":"%s","name":"read_file","args":{"n":%d}}}`, id, k))
		if !q.one(6) {
			results = append(results, fmt.Sprintf(`{"functionResponse":{"id":"%s","name":"read_file","response":{"%s":%s}}}`, id, q.pick("output", "output", "error"), quote(q.text(q.n))))
		}
		if q.one(8) && len(results) > 0 {
			results = append(results, results[0])
		}
	}
	if q.one(2) {
		calls = append([]string{q.said()}, calls...)
	}
	q.message("assistant", "model", calls...)
	if q.one(8) {
		q.prompt()
	}
	if q.one(2) && len(results) > 0 {
		q.message("tool_result", "user", results...)
	} else {
		for _, r := range results {
			q.message("tool_result", "user", r)
		}
	}
	if !q.one(3) {
		q.answer()
	}
}

func (q *qwen) odd() {
	q.step(
		func() { q.message("assistant", "model", `{"text":""}`) },
		func() { q.message("assistant", "model") },
		func() { q.message("assistant", "model", `{"text":"(request timeout)"}`) },
		func() { q.message("assistant", "model", `{"text":"only thought","thought":true}`) },
		func() {
			q.message("tool_result", "user", `{"functionResponse":{"id":"nobody","name":"x","response":{"output":"o"}}}`)
		},
		func() { q.message("user", "user", `{"text":"`+"\u2028"+`break"}`) },
		func() { q.next("future", "") },
		func() { q.next("system", `,"subtype":"future_kind","systemPayload":{}`) },
		func() {
			q.message("user", "user", `{"text":"/stats"}`)
			q.next("system", `,"subtype":"slash_command","systemPayload":{"phase":"result","rawCommand":"/stats","outputHistoryItems":[{"type":"assistant"}]}`)
		},
		q.odder, q.odder, q.odder,
	)
}

// odder writes what the program does not write.
func (q *qwen) odder() {
	typ, role := "user", "user"
	if q.one(2) {
		typ, role = "assistant", "model"
	}
	q.step(
		func() { q.next(typ, "") },
		func() {
			q.next(typ, `,"message":`+q.pick("null", "{}", `"text"`, `{"role":"`+role+`"}`, `{"role":"`+role+`","parts":null}`))
		},
		func() { q.message(typ, q.pick("user", "model", "system"), q.said()) },
		func() {
			q.message(typ, role, q.said(), q.pick("null", `"text"`, `{}`, `{"future":1}`, `{"text":42}`, `{"text":null}`))
		},
		func() { q.message(typ, role, q.pick(`{"text":" "}`, `{"text":"\n"}`, `{"text":""}`), q.said()) },
		func() { q.message("assistant", "model", `{"text":"signed","thoughtSignature":"s"}`) },
		func() { q.message("assistant", "model", `{"functionCall":{"name":"read_file","args":{}}}`) },
		func() {
			q.message("assistant", "model", fmt.Sprintf(`{"functionCall":{"id":"t%d","name":"x","args":{}}}`, q.n), fmt.Sprintf(`{"functionCall":{"id":"t%d","name":"y"}}`, q.n))
			q.message("tool_result", "user", fmt.Sprintf(`{"functionResponse":{"id":"t%d","name":"x","response":{"output":"o"}}}`, q.n-1))
		},
		func() {
			q.message("assistant", "model", fmt.Sprintf(`{"functionCall":{"id":"r%d","name":"x","args":{}}}`, q.n))
			q.message("tool_result", "user", fmt.Sprintf(`{"functionResponse":{"id":"r%d","name":"x","response":%s}}`, q.n-1,
				q.pick(`{}`, `null`, `{"a":{"b":1}}`, `{"output":{"x":1}}`, `{"output":""}`, `{"error":"e","output":"o"}`)), q.said())
		},
		func() {
			q.message("user", "user", `{"functionResponse":{"name":"x","response":{"output":"o"}}}`, q.said())
		},
		func() {
			q.next("system", `,"subtype":"chat_compression","systemPayload":`+q.pick(`{}`, `{"compressedHistory":[]}`, `{"compressedHistory":null}`,
				`{"compressedHistory":[{"role":"user","parts":[{"text":"S"}]}]}`, `{"compressedHistory":[{"role":"model","parts":[{"functionCall":{"id":"c","name":"x","args":{}}}]},{"role":"user","parts":[{"text":"S"}]}]}`))
		},
		func() { q.next("system", `,"message":{"role":"user","parts":[{"text":"of the system"}]}`) },
		func() { q.next("system", `,"subtype":"`+q.pick("notification", "at_command", "microcompaction")+`"`) },
	)
}

func (q *qwen) branch() { q.last = q.ids[q.rnd.IntN(len(q.ids))] }

func (q *qwen) rewind() {
	q.branch()
	q.next("system", `,"subtype":"rewind","systemPayload":{"truncatedCount":1}`)
}

func (q *qwen) compress() {
	q.next("system", `,"subtype":"chat_compression","systemPayload":{"info":{"originalTokenCount":9,"newTokenCount":1,"compressionStatus":1},"compressedHistory":[{"role":"user","parts":[{"text":"SUMMARY"}]},{"role":"model","parts":[{"text":"Got it."}]}]}`)
}

func (q *qwen) title() {
	q.line("", "system", `,"subtype":"custom_title","systemPayload":{"customTitle":"A title","titleSource":"auto"}`)
}

// piece continues the record of the last line.
func (q *qwen) piece() {
	if q.last != "" {
		last := q.last
		q.line(last, "assistant", `,"message":{"role":"model","parts":[`+q.said()+`]}`)
	}
}

func (q *qwen) artifact() {
	q.line("", "system", `,"subtype":"session_artifact_event","systemPayload":{"v":1}`)
}
