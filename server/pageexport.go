package server

import (
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/export"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/reply"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// mostExports is the largest number of downloads at the same time; ownExports is that of one caller.
const (
	mostExports = 8
	ownExports  = 2
)

// downloads counts the downloads in progress. The limit per caller keeps a slow caller from blocking the others.
type downloads struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// begin reports whether a caller may begin another download. If so, end must be called after it.
func (d *downloads) begin(caller string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all >= mostExports || d.by[caller] >= ownExports {
		return false
	}
	if d.by == nil {
		d.by = map[string]int{}
	}
	d.all++
	d.by[caller]++
	return true
}

func (d *downloads) end(caller string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	if d.by[caller]--; d.by[caller] == 0 {
		delete(d.by, caller)
	}
}

// exportPage sends a session as a file. Its parameters are format, leaf, all (all branches) and redact (true or false). The defaults are
// those of the command line: HTML without a leaf has all branches, and secrets are replaced in formats that are meant to be shared.
func exportPage(r *request) error {
	q := r.URL.Query()
	opt := export.Options{
		Format: export.Format(q.Get("format")), AllBranches: q.Get("all") != "", Home: r.s.opt.Home, Zone: r.s.opt.Clock().Location(),
	}
	if !slices.Contains(export.Formats, opt.Format) {
		return bad("the parameter \"format\" must be html, md, json or txt, not %.40q", opt.Format)
	}
	opt.AllBranches = opt.AllBranches || opt.Format == export.HTML && !q.Has("leaf")
	if opt.Redact = opt.Format.Shared(); q.Has("redact") {
		opt.Redact = q.Get("redact") != "false"
	}
	if q.Has("leaf") {
		leaf := session.EntryID(q.Get("leaf"))
		opt.Leaf = &leaf
	}
	row, err := r.session(r.PathValue("session"))
	if err != nil {
		return err
	}
	caller := "address " + r.s.guard.Address(r.Request)
	if r.grant != nil {
		caller = "token " + r.grant.Name
	}
	if !r.s.exports.begin(caller) {
		r.w.Header().Set("Retry-After", "2")
		return guard.Refuse(http.StatusServiceUnavailable, "too many downloads at the moment; try again later")
	}
	defer r.s.exports.end(caller)
	// This is a session of its own, because it must not change, however long the client takes.
	s, err := r.s.store.Open(r.Context(), row.Path, store.OpenOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := r.mayRead(s.Header()); err != nil {
		return err
	}
	if opt.Leaf != nil {
		if _, err := s.Tree().Get(*opt.Leaf); err != nil {
			return err
		}
	}
	r.w.Header().Set("Content-Disposition", `attachment; filename="`+reply.FileName("session-", string(row.ID))+"."+string(opt.Format)+`"`)
	return r.streamed(opt.Format.Media(), func(w io.Writer) error {
		_, err := export.Write(r.Context(), w, s, opt)
		return err
	})
}

// exportFormats lists the formats of downloads for the page of a session.
func exportFormats() (list []page.Export) {
	for _, f := range export.Formats {
		list = append(list, page.Export{Format: string(f), Safe: f.Shared()})
	}
	return list
}
