package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

// rare is how many chunks may have the keys of a query whose logs are all looked up. If there are more, the newest logs very likely have
// some, and logs are looked at from the newest on.
const rare = 4000

// piece is a chunk of an answer.
type piece struct {
	log [16]byte
	index.Span
}

// scanPieces reads rows of log, start, stop and flags, and what else is there.
func scanPieces(rows *pgdb.Rows, take func(p piece), more ...any) error {
	var p piece
	var c index.Chunk
	var flags int
	err := pgdb.ForEachRow(rows, append([]any{&p.log, &c.From, &c.To, &flags}, more...), func() error {
		c.Flags = byte(flags)
		p.Span = index.Span{From: c.From, To: c.To, Odd: c.Odd()}
		take(p)
		return nil
	})
	return err
}

// Search implements index.Shared.
func (x *Index) Search(ctx context.Context, sel index.Selection, q *query.Query) (list []index.Found, next *index.Position, err error) {
	sel.Order = index.OrderUsed
	keys := q.Keys()
	err = x.read(ctx, func(p *pgdb.Pool) (err error) {
		list, next = nil, nil
		var among *sieve
		if sel.After != nil {
			switch r := sel.After.Rest.(type) {
			case *rest:
				list, next, err = r.next(ctx, p, sel.Limit)
				return err
			case *sieve:
				among = r
			}
		}
		if among == nil {
			among = &sieve{}
			if among.ids, among.some, err = lookup(ctx, p, &keys); err != nil {
				return err
			}
		}
		if among.some && len(among.ids) <= rare {
			list, next, err = ofChunks(ctx, p, sel, among.ids)
			return err
		}
		list, next, err = ofNewest(ctx, p, sel, among)
		return err
	})
	return list, next, err
}

// sieve has the ids of the chunks that may match: all if some is not set.
type sieve struct {
	ids  []int64
	some bool
}

// rest is what is left of the answer of the inverted index: the keys of logs, the newest first, and their chunks.
type rest struct {
	logs   [][16]byte
	pieces []piece
}

// restMost is how many logs of a rest are given at once.
const restMost = 256

// ofChunks gives the logs of some chunks, as far as they fit, the newest first. Their entries are read when they are asked for: a
// search mostly ends before the last.
func ofChunks(ctx context.Context, p *pgdb.Pool, sel index.Selection, ids []int64) (list []index.Found, next *index.Position, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	limit := sel.Limit
	sel.Limit = 0
	var s statement
	s.selects(&sel)
	s.and("c.id = any(%s)", ids)
	order := s.page(&sel)
	const sql = "select l.log, c.start, c.stop, c.flags from treeline_index.chunk c join treeline_index.log l on l.log = c.log"
	rows, err := p.Query(ctx, sql+s.clause()+order+", c.n", s.args...)
	if err != nil {
		return nil, nil, err
	}
	var r rest
	err = scanPieces(rows, func(p piece) {
		if n := len(r.logs); n == 0 || r.logs[n-1] != p.log {
			r.logs = append(r.logs, p.log)
		}
		r.pieces = append(r.pieces, p)
	})
	if err != nil {
		return nil, nil, err
	}
	return r.next(ctx, p, limit)
}

// next gives the next logs.
func (r *rest) next(ctx context.Context, p *pgdb.Pool, limit int) (list []index.Found, next *index.Position, err error) {
	if limit <= 0 {
		limit = len(r.logs)
	}
	logs := r.logs
	for len(logs) > 0 && len(list) == 0 { // all of one page may have been removed meanwhile
		n := min(limit, restMost, len(logs))
		var s statement
		s.and("l.log = any(%s)", logs[:n])
		order := s.page(&index.Selection{Order: index.OrderUsed})
		if list, err = fetch(ctx, p, &s, order); err != nil {
			return nil, nil, err
		}
		logs = logs[n:]
	}
	if len(logs) > 0 {
		next = list[len(list)-1].PositionOf(index.OrderUsed)
		next.Rest = &rest{logs, r.pieces}
	}
	return join(list, r.pieces), next, nil
}

// ofNewest looks at the next logs in the order of their last use.
func ofNewest(ctx context.Context, p *pgdb.Pool, sel index.Selection, among *sieve) ([]index.Found, *index.Position, error) {
	var s statement
	s.selects(&sel)
	list, err := fetch(ctx, p, &s, s.page(&sel))
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	var next *index.Position
	if sel.Limit > 0 && len(list) == sel.Limit {
		next = list[len(list)-1].PositionOf(index.OrderUsed)
		next.Rest = among
	}
	logs := make([][16]byte, len(list))
	for i := range list {
		logs[i] = key(list[i].Source, list[i].Name)
	}
	const sql = "select log, start, stop, flags, id from treeline_index.chunk where log = any($1)"
	rows, err := p.Query(ctx, sql, logs)
	if err != nil {
		return nil, nil, err
	}
	var pieces []piece
	var id int64
	err = scanPieces(rows, func(p piece) {
		if _, ok := slices.BinarySearch(among.ids, id); ok || !among.some {
			pieces = append(pieces, p)
		}
	}, &id)
	if err != nil {
		return nil, nil, err
	}
	return join(list, pieces), next, nil
}

// fetch reads logs.
func fetch(ctx context.Context, p *pgdb.Pool, s *statement, order string) (list []index.Found, err error) {
	rows, err := p.Query(ctx, "select l.source, l.entry, l.chunks from treeline_index.log l"+s.clause()+order, s.args...)
	if err != nil {
		return nil, err
	}
	err = scan(rows, func(l *index.Found) { list = append(list, *l) })
	return list, err
}

// join gives logs their chunks, and leaves out those that have none.
func join(list []index.Found, pieces []piece) []index.Found {
	spans := map[[16]byte][]index.Span{}
	for i := range pieces {
		spans[pieces[i].log] = append(spans[pieces[i].log], pieces[i].Span)
	}
	for i := range list {
		list[i].Spans = spans[key(list[i].Source, list[i].Name)]
		slices.SortFunc(list[i].Spans, func(a, b index.Span) int { return cmp.Compare(a.From, b.From) })
	}
	return slices.DeleteFunc(list, func(l index.Found) bool { return len(l.Spans) == 0 })
}
