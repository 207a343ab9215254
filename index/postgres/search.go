package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

// rare is how many chunks the inverted index may give for a query that is answered by it. If there are more, the newest logs very
// likely have some, and logs are looked at from the newest on.
const rare = 4000

// keys gives the condition that a chunk c has some keys; "" if there is none.
func (s *statement) keys(k *query.Keys) string {
	var all []string
	if len(k.Words) > 0 {
		words := make([]int32, len(k.Words))
		for i, w := range k.Words {
			words[i] = wordKey(w)
		}
		all = append(all, "c.words @> "+s.arg(distinct(words))+"::integer[]")
	}
	if len(k.Grams) > 0 {
		grams := make([]int16, len(k.Grams))
		for i, g := range k.Grams {
			grams[i] = int16(uint16(g))
		}
		all = append(all, "c.grams @> "+s.arg(distinct(grams))+"::smallint[]")
	}
	for _, any := range k.Anys {
		var one []string
		for i := range any {
			condition := s.keys(&any[i])
			if condition == "" { // an alternative that requires nothing
				one = nil
				break
			}
			one = append(one, condition)
		}
		if len(one) > 0 {
			all = append(all, "("+strings.Join(one, " or ")+")")
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "(" + strings.Join(all, " and ") + ")"
}

// piece is a chunk of an answer.
type piece struct {
	log [16]byte
	index.Span
}

// scanPieces reads the chunks for which a condition holds. A sequential scan is disabled for it, because the planner underestimates
// what it costs to read the keys of all chunks. The two statements are one transaction.
func scanPieces(ctx context.Context, p *pgdb.Pool, condition string, args []any) (list []piece, err error) {
	batch := &pgdb.Batch{}
	batch.Queue("select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)")
	batch.Queue("select c.log, c.start, c.stop, c.flags from treeline_index.chunk c where "+condition, args...)
	results := p.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p piece
		var flags int
		c := index.Chunk{}
		if err := rows.Scan(&p.log, &c.From, &c.To, &flags); err != nil {
			return nil, err
		}
		c.Flags = byte(flags)
		p.Span = index.Span{From: c.From, To: c.To, Odd: c.Odd()}
		list = append(list, p)
	}
	return list, rows.Err()
}

// Search implements index.Shared.
func (x *Index) Search(ctx context.Context, sel index.Selection, q *query.Query) (list []index.Found, next *index.Position, err error) {
	sel.Order = index.OrderUsed
	keys := q.Keys()
	err = x.read(ctx, func(p *pgdb.Pool) error {
		list, next = nil, nil
		if sel.After != nil {
			if r, ok := sel.After.Rest.(*rest); ok {
				list, next, err = r.next(ctx, p, sel.Limit)
				return err
			}
		}
		var s statement
		condition := s.keys(&keys)
		// Common words are found in the newest logs, so these are looked at first.
		if condition != "" && sel.After != nil && sel.After.Tried == 0 {
			pieces, err := scanPieces(ctx, p, "("+condition+" or c.whole) limit "+s.arg(rare+1), s.args)
			if err != nil {
				return err
			}
			if len(pieces) <= rare {
				list, next, err = ofPieces(ctx, p, sel, pieces)
				return err
			}
		}
		if list, next, err = x.ofNewest(ctx, p, sel, &keys); next == nil {
			return err
		}
		switch {
		case sel.After != nil:
			next.Tried = max(0, sel.After.Tried-1)
			if sel.After.Tried <= 0 { // the index gave too many
				next.Tried = -1
			}
		case len(list) >= sel.Limit/12:
			next.Tried = 1 // frequent enough for one window more before the index is asked
		}
		return err
	})
	return list, next, err
}

// rest is what is left of the answer of the inverted index: the keys of logs, the newest first, and their chunks.
type rest struct {
	logs   [][16]byte
	pieces []piece
}

// restMost is how many logs of a rest are given at once.
const restMost = 256

// ofPieces gives the logs of some chunks, as far as they fit, the newest first. Their entries are read when they are asked for: a
// search mostly ends before the last.
func ofPieces(ctx context.Context, p *pgdb.Pool, sel index.Selection, pieces []piece) (list []index.Found, next *index.Position, err error) {
	if len(pieces) == 0 {
		return nil, nil, nil
	}
	logs := make([][16]byte, len(pieces))
	for i := range pieces {
		logs[i] = pieces[i].log
	}
	limit := sel.Limit
	sel.Limit = 0
	var s statement
	s.selects(&sel)
	s.and("l.log = any(%s)", logs)
	order := s.page(&sel)
	rows, err := p.Query(ctx, "select l.log from treeline_index.log l"+s.clause()+order, s.args...)
	if err == nil {
		logs, err = pgdb.CollectRows(rows, pgdb.RowTo[[16]byte])
	}
	if err != nil {
		return nil, nil, err
	}
	return (&rest{logs, pieces}).next(ctx, p, limit)
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
func (x *Index) ofNewest(ctx context.Context, p *pgdb.Pool, sel index.Selection, keys *query.Keys) ([]index.Found, *index.Position, error) {
	var s statement
	s.selects(&sel)
	list, err := fetch(ctx, p, &s, s.page(&sel))
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
	var c statement
	in := "c.log = any(" + c.arg(logs) + ")"
	if condition := c.keys(keys); condition != "" {
		in += " and (c.whole or coalesce(" + condition + ", false))" // not by the GIN index, which has the chunks of all logs
	}
	pieces, err := scanPieces(ctx, p, in, c.args)
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
