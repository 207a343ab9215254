package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// Bounds of a page, which is at most 300 KB however large the session is.
const (
	blocksMost = 40
	textMost   = 4 << 10
	railMost   = 160
	// hereMost is the largest number of entries on a path for which the context's size is estimated.
	hereMost = 1000
)

func oneSessionPage(r *request) error { return r.showSession((*page.Site).Session) }
func fragmentPage(r *request) error   { return r.showSession((*page.Site).Fragment) }

// showSession makes the page of a session, or only the part of it that changes.
func (r *request) showSession(write func(*page.Site, io.Writer, page.SessionPage) error) error {
	event := r.s.feed.Last() // taken before anything is read, so that a change in between is reported again rather than missed
	l, row, key, err := r.find(r.PathValue("session"))
	if err != nil {
		return err
	}
	return r.html(func(b *bytes.Buffer) error {
		v := viewing{request: r, l: l, row: row, q: r.URL.Query()}
		v.page.Key = key
		if err := r.use(r.Context(), row.Path, func(doc *document) error {
			if r.unchanged(r.aging(doc.tag + "-" + l.Tag + "-" + r.form())) {
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

// viewing is the page of a session while it is filled.
type viewing struct {
	*request
	l    *view.List
	row  *place.Row
	q    url.Values
	page page.SessionPage
}

// look reads the shown part of a session. The tree does not grow meanwhile.
func (v *viewing) look(doc *document) error {
	p, t, d := &v.page, doc.sess.Tree(), doc.transcript(v.relatives())
	title, err := doc.sess.Title()
	if err != nil {
		return err
	}
	h, log := doc.sess.Header(), doc.sess.Log()
	p.ID, p.Dialect, p.CWD, p.Path = string(h.ID), doc.sess.Dialect().Name(), h.CWD, doc.path
	p.Origin = v.row.Source.Origin
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
	if err := v.window(doc, d); err != nil {
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

// leaf returns the end of the path that is shown; nil means the session's own leaf.
func (v *viewing) leaf() *session.EntryID {
	if v.page.Leaf == "" {
		return nil
	}
	return &v.page.Leaf
}

// window reads the part of the path that is shown, or the changes of files.
func (v *viewing) window(doc *document, d *transcript.Document) (err error) {
	p := &v.page
	if p.Mode == page.Changes {
		p.Files, err = doc.changes(v.Context(), d, v.leaf())
		if p.File = v.q.Get("file"); p.File != "" && err == nil {
			at := slices.IndexFunc(p.Files, func(f transcript.FileChange) bool { return f.Path == p.File })
			if at < 0 {
				return guard.Refuse(http.StatusNotFound, "the file was not edited on this branch")
			}
			p.Files = p.Files[at : at+1]
		}
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

// changes returns the edits of files on a path. This reads the whole path, so the last result is kept.
func (doc *document) changes(ctx context.Context, d *transcript.Document, leaf *session.EntryID) ([]transcript.FileChange, error) {
	key := doc.tag
	if leaf != nil {
		key += " " + string(*leaf)
	}
	doc.filing.Lock() // of concurrent requests, one reads and the others wait
	defer doc.filing.Unlock()
	if doc.filesOf == key {
		return doc.files, nil
	}
	files, err := d.Changes(ctx, leaf)
	if err == nil {
		doc.files, doc.filesOf = files, key
		doc.edited.Store(transcript.Weight(files))
	}
	return files, err
}

// relatives returns the session and its sub-agents.
func (v *viewing) relatives() []place.Row {
	list := []place.Row{*v.row}
	for _, i := range v.l.FamilyOf().Below[v.l.ByPath[v.row.Path]] {
		if v.l.Rows[i].IsTask() {
			list = append(list, v.l.Rows[i])
		}
	}
	return list
}

// around fills in what comes from the list: the session's relatives, runs and addresses.
func (v *viewing) around() error {
	p, fam, own := &v.page, v.l.FamilyOf(), v.l.ByPath[v.row.Path]
	if i := fam.Parents[own]; i >= 0 {
		parent := v.request.row(v.l, i)
		p.Parent, p.IsTask = &parent, v.row.IsTask()
	}
	for _, i := range fam.Below[own] {
		r := v.request.row(v.l, i)
		if r.Task {
			p.Tasks = append(p.Tasks, r)
		} else {
			p.Forks = append(p.Forks, r)
		}
	}
	runs, err := v.runsOf(v.row.ID)
	if err != nil {
		return err
	}
	for i := range runs {
		p.Runs = append(p.Runs, page.RunRow{Run: wire.NewRun(runs[i]), When: runs[i].When(), Key: p.Key})
	}
	for _, agent := range v.s.opt.Agents {
		if agent != p.Dialect {
			p.ResumeIn = append(p.ResumeIn, page.Command{Agent: agent, Command: wire.ShellLine("", nil, []string{"treeline", "resume", v.row.Path, "--in", agent})})
		}
	}
	base := v.s.base + "/s/" + url.PathEscape(p.Key) + "/image/"
	p.Image = func(i transcript.Image) string {
		if !i.Blob && strings.Contains(i.Data, "://") || !page.Linkable(i.Entry) {
			return "" // pictures on other servers are not loaded
		}
		return base + url.PathEscape(string(i.Entry)) + "/" + strconv.Itoa(i.Index)
	}
	p.SessionKey, p.Exports = v.l.KeyByID, exportFormats()
	return nil
}

// transcript returns the transcript of the session. It is kept, with what it computed, until the log or the logs of the sub-agents change.
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

// resume returns the command that continues the session, or "". It does not change while the log grows.
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

// here returns an estimate of what the model sees at a leaf, or nil if the path is too long. The last estimate is kept, because it takes a
// third of a page's time.
func (doc *document) here(ctx context.Context, leaf session.EntryID) *page.Here {
	key := doc.tag + " " + string(leaf)
	doc.kept.Lock()
	h, same := doc.sees, doc.seesAt == key
	doc.kept.Unlock()
	if same {
		return h
	}
	h = doc.estimate(ctx, leaf)
	if ctx.Err() == nil {
		doc.kept.Lock()
		doc.sees, doc.seesAt = h, key
		doc.kept.Unlock()
	}
	return h
}

func (doc *document) estimate(ctx context.Context, leaf session.EntryID) *page.Here {
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
