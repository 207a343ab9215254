package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// Bounds of a page: the whole of it is at most 300 KB, however large the session is.
const (
	blocksMost = 40
	textMost   = 4 << 10
	railMost   = 160
	// hereMost is the number of entries on a path up to which the size of its context is estimated.
	hereMost = 1000
)

func oneSessionPage(r *request) error { return r.showSession((*page.Site).Session) }
func fragmentPage(r *request) error   { return r.showSession((*page.Site).Fragment) }

// showSession makes the page of a session, or the part of it that changes.
func (r *request) showSession(write func(*page.Site, io.Writer, page.SessionPage) error) error {
	event := r.s.feed.last() // before anything is read: what happens meanwhile is told again, and not missed
	l, err := r.s.list.get(r.Context())
	if err != nil {
		return err
	}
	row, key, err := l.find(r.PathValue("session"))
	if err != nil {
		return err
	}
	return r.html(func(b *bytes.Buffer) error {
		v := viewing{request: r, l: l, row: row, q: r.URL.Query()}
		v.page.Key = key
		if err := r.s.docs.use(r.Context(), row.Path, func(doc *document) error {
			if r.unchanged(fmt.Sprintf("%s-%d-%s-%d", doc.tag, l.version, r.form(), r.minute())) {
				return errNotModified
			}
			return v.look(doc)
		}); err != nil {
			return err
		}
		if err := v.around(); err != nil {
			return err
		}
		v.page.Events = r.s.base + apiPath + "/sessions/" + url.PathEscape(key) + "/events?after=" + event
		return write(r.s.site, b, v.page)
	})
}

// viewing is the page of a session that is being filled.
type viewing struct {
	*request
	l    *listing
	row  *place.Row
	q    url.Values
	page page.SessionPage
}

// look reads what is shown of a session. Its tree does not grow meanwhile.
func (v *viewing) look(doc *document) error {
	p, t, d := &v.page, doc.sess.Tree(), doc.transcript(v.relatives())
	title, err := doc.sess.Title()
	if err != nil {
		return err
	}
	h, log := doc.sess.Header(), doc.sess.Log()
	p.ID, p.Dialect, p.CWD, p.Path = string(h.ID), doc.sess.Dialect().Name(), h.CWD, doc.path
	p.Title = cmp.Or(strings.TrimSpace(title), strings.TrimSpace(v.row.Prompt))
	p.Created, _ = h.Timestamp.Time()
	p.Entries, p.Messages, p.Branches = t.Len(), v.row.Messages, d.Skeleton().Branches()
	if k := v.row.Known; k != nil {
		j := wire.NewRow(v.row)
		p.Tokens, p.Cost = j.Tokens, j.Cost
	}
	p.Live = v.s.opt.Clock().Sub(log.Time) < liveTime
	p.Mode = page.ParseMode(v.q.Get("mode"))
	p.Leaf, p.At = session.EntryID(v.q.Get("leaf")), session.EntryID(v.q.Get("at"))
	for _, id := range []session.EntryID{p.Leaf, p.At} {
		if id != "" {
			if _, err := t.Get(id); err != nil {
				return err
			}
		}
	}
	p.Resume = doc.resume(v.Context(), v.s)
	p.Problems = slices.Clone(t.Problems())
	if err := v.window(d); err != nil {
		return err
	}
	here := p.At
	if here == "" && p.Window != nil && v.q.Get("before") == "" && v.q.Get("first") == "" {
		here = p.Window.Last
	}
	if p.Rail, err = d.Rail(v.Context(), transcript.RailRequest{Leaf: v.leaf(), Here: here, MaxRows: railMost}); err != nil {
		return err
	}
	p.Here = doc.here(v.Context(), cmp.Or(p.Leaf, t.LeafID()))
	return nil
}

// leaf is the end of the path that is shown; nil for the session's own.
func (v *viewing) leaf() *session.EntryID {
	if v.page.Leaf == "" {
		return nil
	}
	return &v.page.Leaf
}

// window reads the part of the path that is shown, or the changes of files.
func (v *viewing) window(d *transcript.Document) (err error) {
	p := &v.page
	if p.Mode == page.Changes {
		p.Files, err = d.Changes(v.Context(), v.leaf())
		return err
	}
	ask := transcript.Request{
		Leaf: v.leaf(), Around: p.At, Limit: blocksMost, MaxText: textMost, All: v.q.Get("all") != "",
		First: v.q.Get("first") != "",
	}
	if p.At == "" {
		ask.Before, ask.After = session.EntryID(v.q.Get("before")), session.EntryID(v.q.Get("after"))
	}
	if ask.Before != "" {
		ask.After = ""
	}
	switch p.Mode {
	case page.Focused:
		ask.Mode = transcript.Focused
	case page.Model:
		ask.Mode = transcript.Model
	}
	if p.Window, err = d.Window(v.Context(), ask); err == nil {
		p.Problems = append(p.Problems, p.Window.Problems...)
	}
	return err
}

// relatives are the session and its sub-agents.
func (v *viewing) relatives() []place.Row {
	list := []place.Row{*v.row}
	for _, i := range v.l.familyOf().below[v.l.byPath[v.row.Path]] {
		if v.l.rows[i].IsTask() {
			list = append(list, v.l.rows[i])
		}
	}
	return list
}

// around fills in what the list knows: the session's relatives and runs, and addresses.
func (v *viewing) around() error {
	p, fam, own := &v.page, v.l.familyOf(), v.l.byPath[v.row.Path]
	if i := fam.parents[own]; i >= 0 {
		parent := v.request.row(v.l, i)
		p.Parent, p.IsTask = &parent, v.row.IsTask()
	}
	for _, i := range fam.below[own] {
		r := v.request.row(v.l, i)
		if r.Task {
			p.Tasks = append(p.Tasks, r)
		} else {
			p.Forks = append(p.Forks, r)
		}
	}
	runs, err := v.s.recent.get(v.Context(), v.s)
	if err != nil {
		return err
	}
	for i := range runs {
		if runs[i].Header.SessionID == string(v.row.ID) && v.row.ID != "" {
			p.Runs = append(p.Runs, page.RunRow{Run: wire.NewRun(runs[i]), When: runCursor(&runs[i]).When, Key: p.Key})
		}
	}
	for _, agent := range v.s.opt.Agents {
		if agent != p.Dialect {
			p.ResumeIn = append(p.ResumeIn, page.Command{Agent: agent, Command: wire.ShellLine("", nil, []string{"treeline", "resume", v.row.Path, "--in", agent})})
		}
	}
	base := v.s.base + "/s/" + url.PathEscape(p.Key) + "/image/"
	p.Image = func(i transcript.Image) string {
		if !i.Blob && strings.Contains(i.Data, "://") {
			return "" // a picture elsewhere is not loaded
		}
		return base + url.PathEscape(string(i.Entry)) + "/" + strconv.Itoa(i.Index)
	}
	p.SessionKey, p.Exports = v.l.keyByID, exportFormats()
	return nil
}

// transcript gives the session as a person reads it. It remembers what it worked out for as long as neither the log nor the
// logs of its sub-agents change.
func (doc *document) transcript(relatives []place.Row) *transcript.Document {
	doc.kept.Lock()
	defer doc.kept.Unlock()
	state := doc.tag
	for _, r := range relatives[1:] {
		state += fmt.Sprintf(" %s %d", r.Path, r.Log.Size)
	}
	if doc.text == nil || doc.state != state {
		var shape *transcript.Skeleton
		if doc.text != nil && strings.HasPrefix(doc.state, doc.tag) {
			shape = doc.text.Skeleton()
		}
		doc.text, doc.state = transcript.New(doc.sess, shape), state
		doc.text.SetChildren(relatives)
	}
	return doc.text
}

// resume gives the command that continues the session, "" for none. It does not change while the log grows.
func (doc *document) resume(ctx context.Context, s *Server) string {
	doc.kept.Lock()
	defer doc.kept.Unlock()
	if doc.command == nil {
		text := ""
		if c, err := s.store.ResumeCommand(ctx, doc.sess, treeline.ResumeOptions{}); err == nil {
			text = wire.ShellLine(c.Dir, c.Env, c.Args)
		} else if ctx.Err() != nil {
			return ""
		}
		doc.command = &text
	}
	return *doc.command
}

// here estimates what the model sees at a leaf; nil for a path that is too long for it.
func (doc *document) here(ctx context.Context, leaf session.EntryID) *page.Here {
	path, err := doc.sess.Tree().Path(leaf)
	if err != nil || path.Len() > hereMost {
		return nil
	}
	c, err := doc.sess.Context(ctx, leaf, store.ContextOptions{NoBlobs: true})
	if err != nil {
		return nil
	}
	h := &page.Here{Thinking: c.ThinkingLevel}
	for _, m := range c.Models {
		if h.Model == "" || m.Role == "default" {
			h.Model = m.Name
		}
	}
	for m, err := range c.Messages() {
		if err != nil {
			return nil
		}
		h.Messages++
		h.Tokens += session.Estimate(doc.sess.MessageParts(m.JSON))
	}
	return h
}

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

// image sends a picture of an entry, by its position among the pictures of the entry.
func image(r *request) error {
	at, err := strconv.Atoi(r.PathValue("index"))
	if err != nil {
		return guard.Refuse(http.StatusNotFound, "there is no such picture")
	}
	row, err := r.session(r.PathValue("session"))
	if err != nil {
		return err
	}
	var data []byte
	err = r.s.docs.use(r.Context(), row.Path, func(doc *document) error {
		e, err := doc.sess.Tree().Get(session.EntryID(r.PathValue("entry")))
		if err != nil {
			return err
		}
		v, err := wire.NewReader(r.Context(), doc.sess).Look(e)
		if err != nil {
			return err
		}
		list := pictures(nil, v.Parts)
		if at < 0 || at >= len(list) {
			return guard.Refuse(http.StatusNotFound, "there is no such picture")
		}
		data, err = doc.picture(r.Context(), list[at])
		return err
	})
	if err != nil {
		return err
	}
	return r.sendBlob(data)
}

// pictures lists the pictures of an entry, those of tool results in their place.
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

// picture gives the bytes of a picture that is in the log or in a blob.
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

// recent are the runs as they were listed a moment ago: a page of a session only shows which there are.
type recent struct {
	mu   sync.Mutex
	at   time.Time
	rows []treeline.RunRow
}

const recentTime = 5 * time.Second

func (c *recent) get(ctx context.Context, s *Server) ([]treeline.RunRow, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.opt.Clock()
	if !c.at.IsZero() && now.Sub(c.at) < recentTime {
		return c.rows, nil
	}
	rows, err := s.store.Runs(ctx, treeline.RunListOptions{Problem: func(error) {}})
	if err != nil {
		return nil, err
	}
	c.rows, c.at = slices.DeleteFunc(rows, func(r treeline.RunRow) bool { return r.Err != nil }), now
	return c.rows, nil
}
