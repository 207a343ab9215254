package find

import (
	"bytes"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// huge is a record that is looked at alone: its bytes and its texts are most of the memory that a search takes.
const huge = 4 << 20

// glance decodes single records of a log, to see whether one matches before the whole log is read for its sake. It works with
// dialects whose records say all about themselves; with others every record may match.
type glance struct {
	r       backend.Reader
	begun   bool
	dec     dialect.Decoder // nil where nothing can be said of single records
	builder *session.Builder
	header  int64 // where the header ends
}

// reset begins with another log.
func (g *glance) reset(r backend.Reader) { *g = glance{r: r} }

// may says whether an entry in a record may match. It asks only for what must occur: what an entry's neighbours know of it (the
// id of its parent, say) is not known here, so that there may be more texts than there are in truth. That the session
// around is not read for records that do not match is what makes rare words cheap in long sessions.
func (g *glance) may(l *lookup, data []byte, at int64) bool {
	if !g.begun {
		g.begun = true
		g.begin(l)
	}
	if g.dec == nil || len(data) > huge {
		return true // of what is so large there are not to be two copies of the texts
	}
	// Title slot and header are one: their text is what the session is called.
	if at < g.header {
		l.texts = l.texts[:0]
		headerTexts(g.builder.Header(), l.take)
		return l.q.Occurs(l.texts)
	}
	first := g.builder.Len()
	g.dec.Decode(dialect.Record{Data: data, Offset: at})
	for i := first; i < g.builder.Len(); i++ {
		e := g.builder.At(i)
		// A dialect may give an entry that stands elsewhere; of that nothing can be said here.
		start := e.Span.Offset - at
		if start < 0 || start+e.Span.Length > int64(len(data)) {
			return true
		}
		if !mayHold(e, l.f.opt.Fields) {
			continue
		}
		l.texts = l.texts[:0]
		// names{}: with no names known there are more texts, never fewer. See texts.go.
		_, err := textsWithout(l.row.Dialect.Codec(), e, data[start:start+e.Span.Length], names{}, nil, l.take)
		if err == nil && l.q.Occurs(l.texts) {
			return true
		}
	}
	return false
}

// begin reads the header, where decoding must begin.
func (g *glance) begin(l *lookup) {
	const most = 4 << 10 // a longer header is not worth the trouble
	d, ok := l.row.Dialect.(dialect.Continuer)
	if !ok {
		return
	}
	head := make([]byte, min(most, l.row.Log.Size))
	if n, err := g.r.ReadAt(head, 0); n < len(head) && err != nil {
		return
	}
	g.builder = seeded(l.row.Dialect, l.row.Path, nil, session.Header{})
	dec := l.row.Dialect.NewDecoder(g.builder)
	for at := 0; at < len(head); {
		n := bytes.IndexByte(head[at:], '\n')
		if n < 0 {
			return
		}
		dec.Decode(dialect.Record{Data: bytes.TrimSuffix(head[at:at+n], []byte{'\r'}), Offset: int64(at)})
		at += n + 1
		switch h := g.builder.Header(); {
		// Entries without a header: what they mean depends on more than themselves.
		case h.Raw == nil && g.builder.Len() > 0:
			return
		case h.Raw != nil:
			if dec, ok := d.Continue(g.builder); ok && g.builder.Len() == 0 {
				g.dec, g.header = dec, int64(at)
			}
			return
		}
	}
}
