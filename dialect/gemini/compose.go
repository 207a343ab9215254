package gemini

import (
	"cmp"
	"errors"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// Compose makes messages from neutral parts. The calls of an answer are parts of its content, and their results are parts of a
// message of the user. If they were in toolCalls, the program would send the results twice from the second resume
// on.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	list, results, err := contents.Compose(m, "gemini", prompt, func(parts [][]byte) []byte { return d.answer(m, parts) })
	if err != nil || len(results) == 0 {
		return list, err
	}
	var parts [][]byte
	for _, r := range results {
		parts = append(parts, contents.FromParts(beside(r), false)...)
	}
	return append(list, saying(typeUser, parts).End()), nil
}

// beside returns a result without its pictures, followed by the pictures: the program does not send pictures inside results.
func beside(r session.ToolResult) []session.Part {
	list := []session.Part{nil}
	r.Parts = slices.DeleteFunc(slices.Clone(r.Parts), func(p session.Part) bool {
		_, picture := p.(session.Image)
		if picture {
			list = append(list, p)
		}
		return picture
	})
	list[0] = r
	return list
}

// saying is a message of a type, without id and time.
func saying(typ string, parts [][]byte) dialect.Object {
	var w dialect.Object
	w.Str("type", typ)
	w.Add("content", dialect.Array(parts))
	return w
}

// prompt is a message of the user. The program takes a text that begins with / or ? as a command and does not send it. A
// thought before the text prevents that, and is itself not sent.
func prompt(parts [][]byte) []byte {
	if !ignored(textOf(dialect.Array(parts))) {
		return saying(typeUser, parts).End()
	}
	w := saying(typeUser, append([][]byte{[]byte(silentThought)}, parts...))
	w.Add("displayContent", dialect.Array(parts))
	return w.End()
}

// silentThought is a part that is never sent.
const silentThought = `{"text":"","thought":true}`

// answer is a message of the model.
func (d *Dialect) answer(m dialect.NewMessage, parts [][]byte) []byte {
	w := saying(typeAnswer, parts)
	if m.Usage != nil {
		w.Add("tokens", tokensOf(m.Usage))
	}
	w.Optional("model", m.Model)
	if provider := cmp.Or(m.Provider, dialect.ProviderOf(m.Model)); m.Model != "" && provider != "google" {
		w.Optional(providerMember, provider)
	}
	return w.End()
}

// Content returns texts and images as the content of a message.
func (d *Dialect) Content(parts []session.Part) []byte {
	return contents.Said(parts)
}

// SetOrigin adds a member to the line. The program ignores unknown members.
func (d *Dialect) SetOrigin(record, origin []byte) []byte {
	return dialect.SetOrigin(record, rawjson.EscapeBreaks(origin))
}

var (
	_ dialect.Editor  = (*Dialect)(nil)
	_ dialect.Adopter = (*Dialect)(nil)
)

// Rechain changes nothing: the parents follow from the order of the lines.
func (d *Dialect) Rechain(record []byte, _, _ session.EntryID) ([]byte, error) { return record, nil }

// SetArguments changes the arguments of one call, in the content and beside it.
func (d *Dialect) SetArguments(record []byte, callID string, arguments []byte) ([]byte, bool, error) {
	if !rawjson.IsObject(arguments) || !rawjson.Valid(arguments) {
		return nil, false, errors.New("the arguments are not a JSON object")
	}
	arguments, found := rawjson.Compact(arguments), false
	change := func(call []byte) []byte {
		if rawjson.Str(call, "id") != callID {
			return call
		}
		found = true
		return rawjson.Set(call, "args", arguments)
	}
	if content := rawjson.Get(record, "content"); rawjson.IsArray(content) {
		content = rawjson.MapElements(content, func(part []byte) []byte {
			if call := rawjson.Get(part, contents.Call); rawjson.IsObject(call) {
				return rawjson.Set(part, contents.Call, change(call))
			}
			return part
		})
		if found {
			record = rawjson.Set(record, "content", content)
		}
	}
	if calls := rawjson.Get(record, "toolCalls"); rawjson.IsArray(calls) {
		inContent := found
		found = false
		if calls = rawjson.MapElements(calls, change); found {
			record = rawjson.Set(record, "toolCalls", calls)
		}
		found = found || inContent
	}
	return record, found, nil
}

// Adopt keeps unknown members.
func (d *Dialect) Adopt(record, given []byte) []byte {
	return dialect.AdoptMembers(record, given, "id", "timestamp")
}
