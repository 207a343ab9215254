package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/reply"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// leafParams choose the leaf from which a session is seen.
type leafParams struct {
	Leaf string `query:"leaf" json:"-" doc:"the entry to look from; the default is the session's leaf"`
}

// of returns the leaf to look from.
func (p leafParams) of(t *session.Tree) (session.EntryID, error) {
	if p.Leaf == "" {
		return t.LeafID(), nil
	}
	_, err := t.Get(session.EntryID(p.Leaf))
	return session.EntryID(p.Leaf), err
}

type treeParams struct {
	sessionParams
	leafParams
}

// treePiece is the number of entries of a tree that are read at a time. Between two pieces the tree may grow.
const treePiece = 64

// getTree streams the tree. Entries that are appended meanwhile are left out.
func getTree(r *request, p treeParams) error {
	row, err := r.session(p.Session)
	if err != nil {
		return err
	}
	return r.streamed(jsonMedia, func(w io.Writer) error {
		var view *wire.Tree
		total := 0
		return r.hold(r.Context(), row.Path, func(doc *document) error {
			if r.unchanged(doc.tag + "-" + r.form()) {
				return errNotModified
			}
			t := doc.sess.Tree()
			total, view = t.Len(), wire.NewTree(t, doc.sess.Dialect().Codec(), doc.sess.Header().CWD)
			if p.Leaf == "" {
				return nil
			}
			return view.From(session.EntryID(p.Leaf))
		}, func(doc *document) error {
			var piece bytes.Buffer
			list := wire.Array{W: &piece}
			for from := 0; from < total; from += treePiece {
				err := doc.read(func(*document) error {
					for i := from; i < min(from+treePiece, total); i++ {
						if err := r.Context().Err(); err != nil {
							return err
						}
						e, err := view.Entry(i)
						if err == nil {
							err = list.Add(e)
						}
						if err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					return err
				}
				if _, err := piece.WriteTo(w); err != nil {
					return err
				}
			}
			list.W = w
			return list.End()
		})
	})
}

type entriesParams struct {
	sessionParams
	leafParams
	pageParams
}

// pathCursor is a position on a path. The leaf is part of it, so it stays the same for all pages.
type pathCursor struct {
	Leaf session.EntryID `json:"leaf"`
	From int             `json:"from"`
}

// partsMost is the number of bytes after which a page of entries ends early.
const partsMost = 192 << 10

func listEntries(r *request, p entriesParams) (page entryPage, err error) {
	n, err := p.size()
	if err != nil {
		return page, err
	}
	err = r.opened(p.Session, func(doc *document) error {
		t := doc.sess.Tree()
		at := pathCursor{}
		if at.Leaf, err = p.of(t); err != nil {
			return err
		}
		if p.Cursor != "" {
			if at, err = parsePathCursor(p.Cursor); err != nil {
				return err
			}
		}
		path, err := t.Path(at.Leaf)
		if err != nil {
			return err
		}
		reader := wire.NewReader(r.Context(), doc.sess)
		page = entryPage{Entries: []wire.Entry{}, Total: path.Len(), Problems: []session.Problem{}}
		to, size := min(at.From+n, path.Len()), int64(0)
		for ; at.From < to && size < partsMost; at.From++ {
			e := path.At(at.From)
			v, err := reader.Look(e)
			if err != nil {
				return err
			}
			size += e.Span.Length
			page.Entries = append(page.Entries, wire.NewEntry(v, t.Label(e.ID), reader.BlobSize))
		}
		if at.From < path.Len() {
			next := at.String()
			page.Next = &next
		}
		page.Problems = append(page.Problems, reader.Problems...)
		return nil
	})
	return page, err
}

func (c pathCursor) String() string { return strconv.Itoa(c.From) + "." + string(c.Leaf) }

func parsePathCursor(text string) (c pathCursor, err error) {
	from, leaf, ok := strings.Cut(text, ".")
	if c.From, err = strconv.Atoi(from); err != nil || c.From < 0 || !ok {
		return c, badCursor()
	}
	c.Leaf = session.EntryID(leaf)
	return c, nil
}

type entryParams struct {
	sessionParams
	Entry string `path:"entry" json:"-" doc:"the id of an entry"`
}

func getEntry(r *request, p entryParams) (entry wire.Entry, err error) {
	err = r.opened(p.Session, func(doc *document) error {
		t := doc.sess.Tree()
		e, err := t.Get(session.EntryID(p.Entry))
		if err != nil {
			return err
		}
		reader := wire.NewReader(r.Context(), doc.sess)
		v, err := reader.Look(e)
		entry = wire.NewEntry(v, t.Label(e.ID), reader.BlobSize)
		return err
	})
	return entry, err
}

// getRecord sends the bytes of a record as they are in the log.
func getRecord(r *request, p entryParams) error {
	return r.made(jsonMedia, func(b *bytes.Buffer) error {
		return r.opened(p.Session, func(doc *document) error {
			e, err := doc.sess.Tree().Get(session.EntryID(p.Entry))
			if err != nil {
				return err
			}
			raw, err := e.Raw()
			b.Write(raw)
			return err
		})
	})
}

type contextParams struct {
	sessionParams
	leafParams
	Form     string `query:"form" json:"-" one:"native llm parts" doc:"the form of the messages; the default is native"`
	Provider string `query:"provider" json:"-" one:"anthropic openai responses" doc:"with the form llm: gives the body of a request to that provider instead"`
	Whole    bool   `query:"whole" json:"-" doc:"restores long texts that the agent's format cut"`
}

// getContext makes the context while the tree does not grow. Its messages are read while they are sent.
func getContext(r *request, p contextParams) error {
	if p.Provider != "" && p.Form != "llm" {
		return bad("the parameter \"provider\" needs the form llm")
	}
	var problems []session.Problem
	opt := store.ContextOptions{LLM: p.Form == "llm", Whole: p.Whole, Problem: func(q session.Problem) { problems = append(problems, q) }}
	if p.Form == "parts" || p.Provider != "" {
		// A provider's request needs the whole context in memory anyway.
		return r.made(jsonMedia, func(b *bytes.Buffer) error {
			return r.opened(p.Session, func(doc *document) error {
				leaf, err := p.of(doc.sess.Tree())
				if err != nil {
					return err
				}
				problems = append(problems, doc.sess.Tree().Problems()...)
				if p.Provider == "" {
					return wire.WriteParts(wire.Escaped(b), treeline.Messages(r.Context(), doc.sess, leaf, opt), &problems)
				}
				body, err := treeline.NewRequest(r.Context(), doc.sess, leaf, treeline.RequestOptions{Provider: p.Provider, Context: opt})
				if err != nil {
					return err
				}
				return wire.Write(b, json.RawMessage(body.Body))
			})
		})
	}
	return r.streamed(jsonMedia, func(w io.Writer) error {
		var c *session.Context
		var parts func([]byte) []session.Part
		row, err := r.session(p.Session)
		if err != nil {
			return err
		}
		return r.hold(r.Context(), row.Path, func(doc *document) error {
			if r.unchanged(doc.tag + "-" + r.form()) {
				return errNotModified
			}
			leaf, err := p.of(doc.sess.Tree())
			if err == nil {
				problems = append(problems, doc.sess.Tree().Problems()...)
				parts = doc.sess.MessageParts
				c, err = doc.sess.Context(r.Context(), leaf, opt)
			}
			return err
		}, func(*document) error {
			return wire.WriteContext(wire.Escaped(w), c, parts, &problems)
		})
	})
}

type blobParams struct {
	sessionParams
	Blob string `path:"blob" json:"-" doc:"a reference to a blob, as an entry names it"`
}

func getBlob(r *request, p blobParams) error {
	row, err := r.session(p.Session)
	if err != nil {
		return err
	}
	return r.sendBlob(row.Path, func(doc *document) (data []byte, err error) {
		// Blobs belong to no session: a user may only read those that a session of its projects refers to.
		if r.grant != nil && !doc.refers(p.Blob) {
			return nil, guard.Refuse(http.StatusNotFound, "the session does not refer to this blob")
		}
		data, problem := doc.sess.Blob(r.Context(), p.Blob)
		if problem != nil {
			return nil, guard.Refuse(http.StatusNotFound, "%s", problem.Message)
		}
		if r.unchanged(p.Blob) { // the name of a blob is the hash of its content: it never changes
			return nil, errNotModified
		}
		return data, nil
	})
}

// sendBlob sends bytes of the session at a path. Its headers prevent a browser from taking them for a page.
func (r *request) sendBlob(path string, read func(*document) ([]byte, error)) error {
	return r.s.sender.Bytes(r.w, r.Request, func() (data []byte, err error) {
		err = r.use(r.Context(), path, func(doc *document) error {
			data, err = read(doc)
			return err
		})
		if err == nil {
			r.sayBlob(data)
		}
		return data, err
	})
}

// sayBlob sets the headers of an answer that consists of data.
func (r *request) sayBlob(data []byte) {
	h := r.w.Header()
	kind := reply.ImageType(data)
	if kind == "" {
		kind = anyMedia
		h.Set("Content-Disposition", "attachment; filename=\"blob\"")
	}
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	// A browser loads and runs nothing in it, even if it opens the blob as a page.
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
}
