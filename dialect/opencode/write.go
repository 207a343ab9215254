package opencode

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Writer  = (*Dialect)(nil)
	_ dialect.Stamper = (*Dialect)(nil)
)

// programVersion is the version in a new session: the one whose format is written.
const programVersion = "1.18.33"

// defaultTitle begins the title of a session that the program has not named yet.
const defaultTitle = "New session - "

// Habits describes a linear log. A result is kept with its call, so both can only be written together.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{Defer: dialect.DeferMessage, ForkByID: true, ListsByCWD: true, ResultsInCalls: true, ContinuesListed: true,
		SumsInOwnWords: true}
}

// header is the record of a row.
func header(row []byte) []byte { return append(append([]byte(`{"session":`), row...), '}') }

// Header returns the row of a new session. The program looks for a title until it has found one.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	var w dialect.Object
	w.Str("id", string(n.ID))
	w.Str("slug", "treeline-"+strings.ToLower(string(n.ID[max(len(n.ID)-8, 0):])))
	w.Str("directory", n.CWD)
	w.Str("title", titleOf(n.Title, n.Time))
	w.Str("version", programVersion)
	if n.Parent != "" {
		w.Add("metadata", setParent(nil, n.Parent))
	}
	w.Add("time_created", millis(n.Time.UnixMilli()))
	return header(w.End()), nil
}

func titleOf(title string, t time.Time) string {
	if title != "" {
		return title
	}
	return defaultTitle + strings.Trim(session.TimeOf(t).Text, `"`)
}

// setParent sets our own member of metadata to the session that this one comes from, because parent_id is for sub-agents. It returns
// nil if nothing is left in the metadata.
func setParent(metadata []byte, parent string) []byte {
	if !rawjson.IsObject(metadata) {
		metadata = []byte("{}")
	}
	if parent != "" {
		return rawjson.Set(metadata, ownMember, rawjson.Set([]byte("{}"), "parent", rawjson.Quote(parent)))
	}
	if metadata = rawjson.Delete(metadata, ownMember); string(metadata) == "{}" {
		return nil
	}
	return metadata
}

// EditHeader changes columns of the row. A copy is a separate session: it is neither shared nor that of a sub-agent.
func (d *Dialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (record, slot []byte, err error) {
	row := rowOf(h.Raw)
	if edit.Copy {
		for _, name := range []string{"parent_id", "share_url", "permission", "time_compacting", "time_archived"} {
			row = form.SetColumn(row, name, nil)
		}
		if at := rawjson.Get(row, "revert"); rawjson.IsObject(at) && edit.ID != nil {
			row = form.SetColumn(row, "revert", renamed(at, string(*edit.ID), "messageID", "partID"))
		}
	}
	if edit.ID != nil {
		if err := d.CheckID(*edit.ID); err != nil {
			return nil, nil, err
		}
		row = form.SetColumn(row, "id", rawjson.Quote(string(*edit.ID)))
	}
	if edit.Time != nil {
		row = form.SetColumn(row, "time_created", millis(edit.Time.UnixMilli()))
	}
	if edit.CWD != nil {
		row = form.SetColumn(row, "directory", rawjson.Quote(*edit.CWD))
	}
	if edit.Title != nil {
		began, _ := h.Timestamp.Time()
		row = form.SetColumn(row, "title", rawjson.Quote(titleOf(*edit.Title, began)))
	}
	if edit.Parent != nil {
		row = form.SetColumn(row, "metadata", setParent(rawjson.Get(row, "metadata"), *edit.Parent))
	}
	return header(row), nil, nil
}

// CheckID returns an error if an id lacks the program's prefix.
func (d *Dialect) CheckID(id session.ID) error {
	if !strings.HasPrefix(string(id), "ses_") || len(id) < 5 {
		return fmt.Errorf("session id %.80q: OpenCode's begin with ses_", id)
	}
	return dialect.CheckFileID(id)
}

// digits are the digits of the random part of ids.
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// suffixLength is the length of the random part.
const suffixLength = 14

// suffix makes the random part of an id from bytes.
func suffix(b []byte) string {
	out := make([]byte, suffixLength)
	for i := range out {
		out[i] = digits[int(b[i])%len(digits)]
	}
	return string(out)
}

func randomSuffix(random io.Reader) (string, error) {
	var b [suffixLength]byte
	_, err := io.ReadFull(random, b[:])
	return suffix(b[:]), err
}

// NewID makes an id that sorts the newest session first, like the program's ids.
func (d *Dialect) NewID(t time.Time, random io.Reader) (session.ID, error) {
	s, err := randomSuffix(random)
	return session.ID(fmt.Sprintf("ses_%012x%s", ^(uint64(t.UnixMilli())<<12|1)&(1<<48-1), s)), err
}

// NewEntryID makes an id without its number: Frame gives each message the number after that of the message before.
func (d *Dialect) NewEntryID(random io.Reader) (session.EntryID, error) {
	s, err := randomSuffix(random)
	return session.EntryID(fmt.Sprintf("msg_%012x%s", 0, s)), err
}

// Record returns the record of a new entry. Frame completes it.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	switch b := n.Body.(type) {
	case session.Message:
		info, parts := rawjson.Get(b.JSON, "info"), rawjson.Get(b.JSON, "parts")
		if !rawjson.Valid(b.JSON) || !rawjson.IsObject(info) || !rawjson.IsArray(parts) {
			return nil, errors.New(`a message of OpenCode is {"info":{…},"parts":[…]}, as the program exports it`)
		}
		switch rawjson.Str(info, "role") {
		case "user", "assistant":
		default:
			return nil, fmt.Errorf("OpenCode has no messages of the role %.40q", rawjson.Str(info, "role"))
		}
		var list [][]byte
		for p := range rawjson.Elements(parts) {
			if !rawjson.IsObject(p) || rawjson.Str(p, "type") == "" {
				return nil, errors.New("a part of the message has no type")
			}
			list = append(list, bare(p, "id", "messageID", "sessionID"))
		}
		return record(n, bare(info, "id", "sessionID"), list), nil
	case session.Compaction:
		info := answerInfo(dialect.NewMessage{Time: n.Time, Stop: dialect.StopEnd})
		info = rawjson.Set(rawjson.Set(rawjson.Set(info, "mode", []byte(`"compaction"`)), "agent", []byte(`"compaction"`)), "summary", []byte("true"))
		if b.FirstKept != "" {
			info = rawjson.Set(info, keptMember, rawjson.Quote(string(b.FirstKept)))
		}
		return record(n, info, [][]byte{chat.Text(b.Summary)}), nil
	}
	return nil, dialect.CannotHold("OpenCode", n.Body)
}

// keptMember carries the first entry that a compaction keeps from Record to Frame.
const keptMember = "treelineKept"

// bare returns an object on one line without some members, because they are columns.
func bare(object []byte, without ...string) []byte {
	for _, name := range without {
		object = rawjson.Delete(object, name)
	}
	return rawjson.EscapeBreaks(rawjson.Compact(object))
}

// record makes the record of a message.
func record(n dialect.NewEntry, info []byte, parts [][]byte) []byte {
	id, in, cwd := string(n.ID), "", ""
	if n.Header != nil {
		in, cwd = string(n.Header.ID), n.Header.CWD
	}
	if rawjson.Str(info, "role") == "assistant" && rawjson.Get(info, "path") == nil {
		var w dialect.Object
		w.Str("cwd", cwd)
		w.Str("root", cwd)
		info = rawjson.Set(info, "path", w.End())
	}
	at := millis(n.Time.UnixMilli())
	row := func(id string, data []byte, of string) []byte {
		var w dialect.Object
		w.Str("id", id)
		w.Optional("message_id", of)
		w.Str("session_id", in)
		w.Add("time_created", at)
		w.Add("time_updated", at)
		w.Add("data", data)
		return w.End()
	}
	out := append([]byte(`{"message":`), row(id, info, "")...)
	out = append(out, `,"part":[`...)
	for k, p := range parts {
		if k > 0 {
			out = append(out, ',')
		}
		out = append(out, row(partID(id, k), p, id)...)
	}
	return append(out, "]}"...)
}

// partID makes the id of the k-th part of a message. Parts are ordered by their ids.
func partID(message string, k int) string {
	rest := strings.TrimPrefix(message, "msg_")
	if len(rest) < 12+suffixLength {
		rest += strings.Repeat("0", 12+suffixLength-len(rest))
	}
	return fmt.Sprintf("prt_%s%05d%s", rest[:12], k, rest[17:])
}

// Copy returns a record for a copy of its session with new ids, because ids are unique in the database.
func (d *Dialect) Copy(raw []byte, _ session.Header, to dialect.NewSession) []byte {
	row := rawjson.Get(raw, "message")
	if row == nil {
		return raw
	}
	fix := func(row []byte) []byte {
		row = renamed(row, string(to.ID), "id", "message_id")
		row = rawjson.Set(row, "session_id", rawjson.Quote(string(to.ID)))
		return rawjson.Set(row, "data", renamed(rawjson.Get(row, "data"), string(to.ID), "parentID", "tail_start_id"))
	}
	raw = rawjson.Set(raw, "message", fix(row))
	return rawjson.Set(raw, "part", rawjson.MapElements(rawjson.Get(raw, "part"), fix))
}

// renamed replaces the ids in some members of an object; equal ids get equal new ids.
func renamed(object []byte, session string, keys ...string) []byte {
	for _, key := range keys {
		if id := rawjson.Str(object, key); len(id) > 4 {
			object = rawjson.Set(object, key, rawjson.Quote(copyID(id, session)))
		}
	}
	return object
}

// copyID is the id of a copy: its random part is made from the old id and the session. The id of a part begins with the number of the
// part, by which parts are ordered; see partID.
func copyID(id, session string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + id))
	random := suffixLength
	if strings.HasPrefix(id, "prt_") {
		random -= 5
	}
	return id[:max(len(id)-random, 4)] + suffix(sum[:])[:random]
}
