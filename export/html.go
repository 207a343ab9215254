package export

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// html writes one page with all that it needs.
func (x *exporter) html(ctx context.Context, out *bufio.Writer) error {
	return x.page(ctx, out, &page.Site{Export: true, Home: x.Home, Zone: x.Zone}, string(x.s.ID()), nil)
}

// page writes the page of the session for a site. seen, if not nil, is called with the blocks.
func (x *exporter) page(ctx context.Context, w io.Writer, site *page.Site, key string, seen func([]transcript.Block)) error {
	p := page.SessionPage{SessionKey: x.keyOf, Image: func(i transcript.Image) string { return x.image(ctx, i) }}
	for s := range x.stretches() {
		win := &transcript.Window{Leaf: s.Tip}
		err := x.blocks(ctx, s, func(list []transcript.Block) error {
			for i := range list {
				x.add(&p.Head, &list[i])
			}
			if seen != nil {
				seen(list)
			}
			win.Blocks = append(win.Blocks, list...)
			return nil
		})
		if err != nil {
			return err
		}
		if p.Window == nil {
			p.Window, win.Total = win, len(win.Blocks)
			continue
		}
		p.Sections = append(p.Sections, page.Section{From: s.From, Branch: s.Number, Of: s.Of, Label: x.label(win, s), Window: win})
	}
	if x.AllBranches {
		rail, err := x.doc.Rail(ctx, transcript.RailRequest{Leaf: x.Leaf, MaxRows: railRows})
		if err != nil {
			return err
		}
		for i := range rail.Rows {
			rail.Rows[i].Label = x.scrub.short(rail.Rows[i].Label)
		}
		p.Rail = rail
	} else {
		dropForks(p.Window)
	}
	if x.AllBranches { // like in lists, where results count as messages
		p.Messages = 0
		for e := range x.s.Tree().Entries() {
			if e.IsMessage() {
				p.Messages++
			}
		}
	}
	h := x.s.Header()
	p.Key, p.ID, p.Title, p.Dialect, p.CWD = key, string(h.ID), x.title(ctx), x.s.Dialect().Name(), x.scrub.short(h.CWD)
	p.Entries, p.Branches = x.report.Entries, x.doc.Skeleton().Branches()
	p.Created, _ = h.Timestamp.Time()
	p.Problems = x.scrub.problems(x.s.Tree().Problems())
	return site.Session(w, p)
}

// railRows is the largest number of rows in the drawing of the tree.
const railRows = 2000

// add adds the numbers of a block.
func (x *exporter) add(h *page.Head, b *transcript.Block) {
	if b.Kind == transcript.Message {
		h.Messages++
	}
	h.Tokens = wire.Tokens{
		Input: h.Tokens.Input + b.Usage.Input, Output: h.Tokens.Output + b.Usage.Output, CacheRead: h.Tokens.CacheRead + b.Usage.CacheRead,
		CacheWrite: h.Tokens.CacheWrite + b.Usage.CacheWrite, Total: h.Tokens.Total + b.Usage.Total,
	}
	h.Cost += b.Usage.Cost
}

// label returns the label of the branch, as the switch before its first block shows it, or the task of the sub-agent.
func (x *exporter) label(w *transcript.Window, s transcript.Stretch) string {
	if n := slices.Index(x.sides, s); n >= 0 {
		return x.titles[n]
	}
	if len(w.Blocks) > 0 && w.Blocks[0].Fork != nil {
		for _, b := range w.Blocks[0].Fork.Branches {
			if b.Number == s.Number {
				return b.Label
			}
		}
	}
	return ""
}

// dropForks removes the switches to branches that are not in the file.
func dropForks(w *transcript.Window) {
	for i := range w.Blocks {
		w.Blocks[i].Fork = nil
	}
}

// mostImage is the largest size of a picture in an export.
const mostImage = 8 << 20

// image returns a picture as a data URL, or "" if the log does not have it: an export loads nothing.
func (x *exporter) image(ctx context.Context, i transcript.Image) string {
	data := i.Data
	switch {
	case i.Blob:
		b, problem := x.s.Blob(ctx, i.Data)
		if problem != nil || len(b) > mostImage {
			return ""
		}
		if i.MIME == "" {
			i.MIME = http.DetectContentType(b)
		}
		data = base64.StdEncoding.EncodeToString(b)
	case strings.HasPrefix(data, "data:"):
		return data
	case strings.Contains(data, "://"), len(data) > mostImage*4/3:
		return ""
	}
	return "data:" + i.MIME + ";base64," + data
}

// key returns the name of a session's page in a site.
func key(id session.ID, taken map[string]bool) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, string(id))
	if len(name) > 80 {
		name = name[:80]
	}
	if name == "" {
		name = "session"
	}
	if reserved(name) {
		name = "session-" + name
	}
	try := name
	for n := 2; taken[strings.ToLower(try)]; n++ { // some file systems ignore case
		try = name + "-" + strconv.Itoa(n)
	}
	taken[strings.ToLower(try)] = true
	return try
}

// reserved reports whether Windows treats a name as a device, whatever its extension is.
func reserved(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt")) && '0' <= name[3] && name[3] <= '9'
}
