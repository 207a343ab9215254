package codex

import (
	"iter"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// base is a rollout that this one continues: its first bytes come before this rollout's own records.
type base struct {
	id    string // id of the rollout: the last UUID in its file name
	bytes int64  // how many of its bytes count
	after int64  // the first ordinal after these bytes
	log   dialect.OtherLog
}

// bases is the chain of rollouts that a log continues, the nearest first. A decoder embeds it.
type bases struct {
	chain []base
	needs []dialect.Need
}

// endings are the suffixes of rollout file names, in the order in which they are looked for.
var endings = []string{".jsonl", ".jsonl.zst"}

// nameOf is the need for the rollout with an id.
func nameOf(id, ending string) dialect.Need {
	return dialect.Need{Kind: dialect.NeedLog, Name: "rollout-*" + id + ending}
}

// want asks for the base that a header names. It returns why the program refuses the header, or "".
func (b *bases) want(payload []byte) (refused string) {
	at := rawjson.Get(payload, "history_base")
	if rawjson.IsNull(at) {
		return ""
	}
	id := rawjson.Str(at, "thread_id")
	after, bytes := rawjson.Get(at, "end_ordinal_exclusive"), rawjson.Get(at, "end_byte_offset")
	if !dialect.IsAnyUUID(id) || !isOrdinal(after) || !isOrdinal(bytes) {
		return "history_base in the header is not valid"
	}
	if !isPaginated(payload) {
		return "" // in other headers the program ignores the member
	}
	for _, known := range b.chain {
		if known.id == id {
			return "the rollouts that it goes on from name each other"
		}
	}
	b.chain = append(b.chain, base{id: id, bytes: dialect.Integer(bytes), after: dialect.Integer(after)})
	b.needs = append(b.needs, nameOf(id, endings[0]))
	return ""
}

// isPaginated reports whether the header says that lines have ordinals.
func isPaginated(payload []byte) bool { return rawjson.Str(payload, "history_mode") == "paginated" }

// Needs implements dialect.Needer.
func (b *bases) Needs() []dialect.Need {
	needs := b.needs
	b.needs = nil
	return needs
}

// Supply implements dialect.Needer. content is the file with the names of sessions; without it the session has no name.
func (dec *decoder) Supply(_ dialect.Need, content []byte, err error) {
	h := dec.b.Header()
	if name := nameIn(content, h.ID); err == nil && name != "" {
		h.Title = name
		dec.b.SetHeader(h)
	}
}

// SupplyLog implements dialect.LogNeeder. The records of a base are added when those of its own base are known.
func (dec *decoder) SupplyLog(n dialect.Need, log dialect.OtherLog, err error) {
	k := len(dec.chain) - 1
	if k < 0 {
		return
	}
	b := &dec.chain[k]
	if err != nil && n == nameOf(b.id, endings[0]) {
		dec.needs = append(dec.needs, nameOf(b.id, endings[1]))
		return
	}
	refused := "the rollout " + b.id + ", which it goes on from, is missing"
	if err == nil {
		b.log = log
		before := len(dec.chain)
		if refused = dec.follow(b); refused == "" && len(dec.chain) > before {
			return
		}
	} else {
		dec.b.Problem(session.Problem{Line: 1, Kind: session.ProblemUnreadable, Message: "the rollout " + b.id + ", which this one goes on from, cannot be read: " + err.Error(),
			Advice: "what comes before is missing; the entries of this file are shown"})
	}
	if refused != "" {
		dec.r.refused = refused
		if b.log == nil {
			dec.chain = dec.chain[:k]
		}
	}
	for k := len(dec.chain) - 1; k >= 0; k-- {
		if err := dec.adopt(&dec.chain[k]); err != nil {
			dec.b.Problem(session.Problem{Line: 1, Kind: session.ProblemUnreadable, Message: "the rollout " + dec.chain[k].id + ", which this one goes on from, cannot be read: " + err.Error(),
				Advice: "the entries before that are shown"})
		}
	}
	dec.chain, dec.r.own = nil, dec.b.Len()
}

// follow reads the header of a base and asks for that base's own base. It returns why the program refuses the base, or "".
func (dec *decoder) follow(b *base) (refused string) {
	next, stop := iter.Pull2(b.log.Records())
	defer stop()
	r, err, ok := next()
	payload := rawjson.Get(r.Data, "payload")
	switch {
	case !ok || err != nil || rawjson.Str(r.Data, "type") != typeMeta:
		return "the rollout " + b.id + ", which it goes on from, has no header"
	case !isPaginated(payload):
		return "the rollout " + b.id + ", which it goes on from, has no ordinals"
	case b.bytes > b.log.Size():
		return "the rollout " + b.id + ", which it goes on from, is too short"
	case b.after == 0:
		return "it goes on from before the beginning of the rollout " + b.id
	}
	return dec.want(payload)
}

// adopt adds the records of a base. Only the bytes that count are read. The program cuts there, even in the middle of a
// line, and ignores ordinals.
func (dec *decoder) adopt(b *base) error {
	var text rawjson.Text
	for r, err := range b.log.Records() {
		if err != nil {
			return err
		}
		left := b.bytes - r.Offset
		if left <= 0 {
			break
		}
		if r.Line == 1 {
			continue
		}
		record := r.Data[:min(int64(len(r.Data)), left)]
		begin := rawjson.SkipSpace(record, 0)
		if begin == len(record) || record[begin] != '{' {
			continue
		}
		var f fields
		text.Reset(record)
		end, err := f.scan(&text, begin)
		// The program does not read two records on a line; the tree of the base shows them.
		if err != nil || rawjson.SkipSpace(record, end) != len(record) || string(f.typ) == typeMeta {
			continue
		}
		if !isLine(&f) {
			dec.r.lose(dec.b.Len())
		}
		dec.entry(r, record[begin:end], session.Span{Offset: r.Offset + int64(begin), Length: int64(end - begin)}, &f, b.log)
	}
	return nil
}
