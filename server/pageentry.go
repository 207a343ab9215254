package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// rawPage shows the record of an entry, or sends its bytes.
func rawPage(r *request) error {
	id := session.EntryID(r.PathValue("entry"))
	p := page.RawPage{Key: r.PathValue("session"), Entry: string(id), Exact: r.URL.Query().Get("form") == "exact"}
	download := r.URL.Query().Get("form") == "download"
	fill := func(b *bytes.Buffer) error {
		err := r.opened(p.Key, func(doc *document) error {
			t := doc.sess.Tree()
			e, err := t.Get(id)
			if err != nil {
				return err
			}
			p.Type, p.Path, p.Line, p.Offset = e.Type, doc.path, e.Line, e.Span.Offset
			if e.Index > 0 {
				p.Previous = string(t.At(e.Index - 1).ID)
			}
			if e.Index+1 < t.Len() {
				p.Next = string(t.At(e.Index + 1).ID)
			}
			if p.Title, err = doc.sess.Title(); err == nil {
				p.JSON, err = e.Raw()
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case download:
			b.Write(p.JSON)
			return nil
		}
		return r.s.site.Raw(b, p)
	}
	if !download {
		return r.html(fill)
	}
	r.w.Header().Set("Content-Disposition", `attachment; filename="entry.json"`)
	return r.made(jsonMedia, fill)
}

// image sends a picture of an entry. The path has its index among the entry's pictures.
func image(r *request) error {
	at, err := strconv.Atoi(r.PathValue("index"))
	if err != nil {
		return guard.Refuse(http.StatusNotFound, "there is no such picture")
	}
	row, err := r.session(r.PathValue("session"))
	if err != nil {
		return err
	}
	return r.sendBlob(row.Path, func(doc *document) ([]byte, error) {
		e, err := doc.sess.Tree().Get(session.EntryID(r.PathValue("entry")))
		if err != nil {
			return nil, err
		}
		v, err := wire.NewReader(r.Context(), doc.sess).Look(e)
		if err != nil {
			return nil, err
		}
		list := pictures(nil, v.Parts)
		if at < 0 || at >= len(list) {
			return nil, guard.Refuse(http.StatusNotFound, "there is no such picture")
		}
		return doc.picture(r.Context(), list[at])
	})
}

// pictures lists the pictures of an entry, including those in tool results, in order.
func pictures(list []session.Image, parts []session.Part) []session.Image {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Image:
			list = append(list, p)
		case session.ToolResult:
			list = pictures(list, p.Parts)
		}
	}
	return list
}

// picture returns the bytes of a picture, which is in the log or in a blob.
func (doc *document) picture(ctx context.Context, p session.Image) ([]byte, error) {
	if _, err := blob.ParseRef(p.Data); err == nil {
		data, problem := doc.sess.Blob(ctx, p.Data)
		if problem != nil {
			return nil, guard.Refuse(http.StatusNotFound, "%s", problem.Message)
		}
		return data, nil
	}
	text := p.Data
	if _, rest, ok := strings.Cut(text, ";base64,"); ok {
		text = rest
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, guard.Refuse(http.StatusNotFound, "the picture cannot be read")
	}
	return data, nil
}
