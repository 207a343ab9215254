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

// mostExports is how many downloads are made at the same time, ownExports how many of them for one caller.
const (
	mostExports = 8
	ownExports  = 2
)

// downloads counts those that are being made. A caller that reads slowly keeps no other one out.
type downloads struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// begin reports whether a caller may have one more. Then end must be called.
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

// exportPage sends a session as a file. Its format, its leaf, all (for all branches) and redact, true or false, are parameters.
// As the command line does it, HTML without a leaf has all branches, and secrets are replaced in the formats that people share.
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
	// A session of its own: it must not change, however long the client takes.
	s, err := r.s.store.Open(r.Context(), row.Path, store.OpenOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
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

// exportFormats names the formats for the page of a session.
func exportFormats() (list []page.Export) {
	for _, f := range export.Formats {
		list = append(list, page.Export{Format: string(f), Safe: f.Shared()})
	}
	return list
}
