package qwen

import (
	"cmp"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// Compose makes contents from neutral parts. Each result becomes a separate content, as in the program.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	said := func(parts [][]byte) []byte { return contents.Make(contents.User, parts) }
	list, results, err := contents.Compose(m, "qwen", said, func(parts [][]byte) []byte {
		return described(m, contents.Make(contents.Model, parts))
	})
	for _, r := range results {
		list = append(list, said(contents.FromParts([]session.Part{r}, false)))
	}
	return list, err
}

// described adds an answer's model and usage to it. Record moves them beside the message.
func described(m dialect.NewMessage, content []byte) []byte {
	if m.Model != "" {
		content = rawjson.Set(content, "model", rawjson.Quote(m.Model))
		provider := cmp.Or(m.Provider, "qwen")
		if provider != cmp.Or(dialect.ProviderOf(m.Model), "qwen") {
			content = rawjson.Set(content, providerMember, rawjson.Quote(provider))
		}
	}
	if u := m.Usage; u != nil {
		input := u.Input + u.CacheRead + u.CacheWrite
		var w dialect.Object
		for _, t := range [...]struct {
			name  string
			count int64
		}{{"promptTokenCount", input}, {"candidatesTokenCount", u.Output}, {"totalTokenCount", input + u.Output}, {"cachedContentTokenCount", u.CacheRead}} {
			w.Add(t.name, strconv.AppendInt(nil, t.count, 10))
		}
		content = rawjson.Set(content, "usageMetadata", w.End())
	}
	return content
}

// Content returns texts and images as the parts of a content.
func (d *Dialect) Content(parts []session.Part) []byte {
	return contents.Said(parts)
}

// SetOrigin adds a member to the line. The program ignores unknown members.
func (d *Dialect) SetOrigin(record, origin []byte) []byte {
	return dialect.SetOrigin(record, rawjson.EscapeBreaks(origin))
}
