package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// piece is a chunk of an answer.
type piece struct {
	log        [16]byte
	id         int64
	generation string // of the log
	index.Span
}

// scanPieces reads rows of log, id, start, stop, flags and generation.
func scanPieces(rows *pgdb.Rows) ([]piece, error) {
	return pgdb.CollectRows(rows, func(r pgdb.Row) (p piece, err error) {
		var c index.Chunk
		var flags int
		err = r.Scan(&p.log, &p.id, &c.From, &c.To, &flags, &p.generation)
		c.Flags = byte(flags)
		p.Span = index.Span{From: c.From, To: c.To, Odd: c.Odd()}
		return p, err
	})
}

// Search implements index.Shared.
func (x *Index) Search(ctx context.Context, sel index.Selection, q *query.Query) (list []index.Found, next *index.Position, err error) {
	sel.Order = index.OrderUsed
	keys := q.Keys()
	err = x.read(ctx, func(p *pgdb.Pool) error {
		list, next = nil, nil
		return p.Snapshot(ctx, func(tx *pgdb.Tx) (err error) {
			if sel.After != nil {
				if r, ok := sel.After.Rest.(*rest); ok {
					list, next, err = r.next(ctx, tx, sel.Limit)
					return err
				}
			}
			among, err := lookup(ctx, tx, &keys)
			if err == nil && among.rare() {
				err = among.complete(ctx, tx)
			}
			switch {
			case err != nil:
			case among.rare():
				list, next, err = ofChunks(ctx, tx, sel, among.ids)
			default:
				list, next, err = ofNewest(ctx, tx, sel, among)
			}
			return err
		})
	})
	return list, next, err
}

// rest is the rest of an answer of the inverted index: the keys of logs, the newest first, and their chunks.
type rest struct {
	logs   [][16]byte
	pieces []piece
}

const sqlPieces = `select c.log, c.id, c.start, c.stop, c.flags, l.generation from treeline_index.chunk c join treeline_index.log l on l.log = c.log`

// restMost is how many logs of a rest are returned at once.
const restMost = 256

// ofChunks returns the logs of some chunks that fit the selection, the newest first. Their entries are read when they are asked for: a
// search usually ends before the last.
func ofChunks(ctx context.Context, tx *pgdb.Tx, sel index.Selection, ids []int64) (list []index.Found, next *index.Position, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	limit := sel.Limit
	sel.Limit = 0
	var s statement
	s.selects(&sel)
	s.and("c.id = any(%s)", ids)
	order := s.page(&sel)
	rows, err := tx.Query(ctx, sqlPieces+s.clause()+order+", c.n", s.args...)
	if err != nil {
		return nil, nil, err
	}
	var r rest
	if r.pieces, err = scanPieces(rows); err != nil {
		return nil, nil, err
	}
	for i := range r.pieces {
		if n := len(r.logs); n == 0 || r.logs[n-1] != r.pieces[i].log {
			r.logs = append(r.logs, r.pieces[i].log)
		}
	}
	return r.next(ctx, tx, limit)
}

// next returns the next logs of a rest.
func (r *rest) next(ctx context.Context, tx *pgdb.Tx, limit int) (list []index.Found, next *index.Position, err error) {
	if limit <= 0 {
		limit = len(r.logs)
	}
	logs := r.logs
	for len(logs) > 0 && len(list) == 0 { // all logs of one page may have been removed meanwhile
		n := min(limit, restMost, len(logs))
		var s statement
		s.and("l.log = any(%s)", logs[:n])
		order := s.page(&index.Selection{Order: index.OrderUsed})
		if list, err = fetch(ctx, tx, &s, order); err != nil {
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

// ofNewest reads the next logs in the order of their last use.
func ofNewest(ctx context.Context, tx *pgdb.Tx, sel index.Selection, among *sieve) ([]index.Found, *index.Position, error) {
	var s statement
	s.selects(&sel)
	list, err := fetch(ctx, tx, &s, s.page(&sel))
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	var next *index.Position
	if sel.Limit > 0 && len(list) == sel.Limit {
		next = list[len(list)-1].PositionOf(index.OrderUsed)
	}
	logs := make([][16]byte, len(list))
	for i := range list {
		logs[i] = key(list[i].Source, list[i].Name)
	}
	rows, err := tx.Query(ctx, sqlPieces+" where c.log = any($1)", logs)
	if err != nil {
		return nil, nil, err
	}
	pieces, err := scanPieces(rows)
	if err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(pieces, func(p piece) bool { return p.id <= among.before }) {
		if err := among.complete(ctx, tx); err != nil {
			return nil, nil, err
		}
	}
	pieces = slices.DeleteFunc(pieces, func(p piece) bool { return !among.passes(p.id) })
	return join(list, pieces), next, nil
}

// fetch reads logs.
func fetch(ctx context.Context, db querier, s *statement, order string) (list []index.Found, err error) {
	rows, err := db.Query(ctx, "select l.source, l.entry, l.chunks from treeline_index.log l"+s.clause()+order, s.args...)
	if err != nil {
		return nil, err
	}
	err = scan(rows, func(l *index.Found) { list = append(list, *l) })
	return list, err
}

// join adds chunks to their logs, and leaves out logs without chunks. A log that was replaced after its chunks were looked up counts as one
// chunk.
func join(list []index.Found, pieces []piece) []index.Found {
	of := map[[16]byte][]piece{}
	for _, p := range pieces {
		of[p.log] = append(of[p.log], p)
	}
	for i := range list {
		l := &list[i]
		for _, p := range of[key(l.Source, l.Name)] {
			if p.generation != l.Stamp.Generation {
				l.Spans = []index.Span{{To: l.Stamp.Size, Odd: true}}
				break
			}
			l.Spans = append(l.Spans, p.Span)
		}
		sorting.By(l.Spans, func(a, b index.Span) int { return cmp.Compare(a.From, b.From) })
	}
	return slices.DeleteFunc(list, func(l index.Found) bool { return len(l.Spans) == 0 })
}
