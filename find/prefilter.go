package find

import (
	"bytes"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find/texts"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// prefilter decodes single records of a log, to check whether one matches before the whole session is read. This makes rare words cheap in
// long sessions. It works with dialects whose records do not depend on each other (dialect.Continuer); with other dialects every record may
// match.
type prefilter struct {
	r       backend.Reader
	begun   bool
	dec     dialect.Decoder // nil if single records cannot be decoded
	builder *session.Builder
	header  int64 // where the header ends
}

// may reports whether an entry in a record may match. It checks only the required terms. Facts about an entry from the rest of the session,
// such as the id of its parent, are unknown here, so there may be more texts than the entry really has.
func (p *prefilter) may(m *matcher, data []byte, at int64) bool {
	if !p.begun {
		p.begun = true
		p.begin(m)
	}
	if p.dec == nil || len(data) > huge { // there must not be two copies of the texts of a huge record
		return true
	}
	// The title slot and the header are one: their text is the title.
	if at < p.header {
		m.texts = m.texts[:0]
		texts.Header(p.builder.Header(), m.take)
		return m.q.Occurs(m.texts)
	}
	first := p.builder.Len()
	p.dec.Decode(dialect.Record{Data: data, Offset: at})
	for i := first; i < p.builder.Len(); i++ {
		e := p.builder.At(i)
		// A dialect may return an entry of another record; it cannot be checked here.
		start := e.Span.Offset - at
		if start < 0 || start+e.Span.Length > int64(len(data)) {
			return true
		}
		if !texts.MayHold(e, m.s.opt.Fields) {
			continue
		}
		m.texts = m.texts[:0]
		_, err := texts.Entry(m.row.Dialect.Codec(), e, data[start:start+e.Span.Length], texts.Names{}, nil, m.take)
		if err == nil && m.q.Occurs(m.texts) {
			return true
		}
	}
	return false
}

// begin reads the header, where decoding must begin.
func (p *prefilter) begin(m *matcher) {
	const most = 4 << 10 // with a longer header every record may match
	d, ok := m.row.Dialect.(dialect.Continuer)
	if !ok {
		return
	}
	head := make([]byte, min(most, m.row.Log.Size))
	if n, err := p.r.ReadAt(head, 0); n < len(head) && err != nil {
		return
	}
	p.builder = logtree.Seed(m.row.Dialect, m.row.Path, nil, session.Header{})
	dec := m.row.Dialect.NewDecoder(p.builder)
	for at := 0; at < len(head); {
		n := bytes.IndexByte(head[at:], '\n')
		if n < 0 {
			return
		}
		dec.Decode(dialect.Record{Data: bytes.TrimSuffix(head[at:at+n], []byte{'\r'}), Offset: int64(at)})
		at += n + 1
		switch h := p.builder.Header(); {
		case h.Raw == nil && p.builder.Len() > 0:
			return // without a header, the meaning of entries depends on each other
		case h.Raw != nil:
			if dec, ok := d.Continue(p.builder); ok && p.builder.Len() == 0 {
				p.dec, p.header = dec, int64(at)
			}
			return
		}
	}
}
