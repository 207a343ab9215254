package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

// statement is an SQL statement under construction. It contains no text from a caller: values are arguments.
type statement struct {
	where []string
	args  []any
}

// arg adds an argument and returns its placeholder.
func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	return fmt.Sprint("$", len(s.args))
}

// and adds a condition. Each %s in it is replaced by an argument.
func (s *statement) and(condition string, args ...any) {
	names := make([]any, len(args))
	for i, v := range args {
		names[i] = s.arg(v)
	}
	s.where = append(s.where, fmt.Sprintf(condition, names...))
}

func (s *statement) clause() string {
	if len(s.where) == 0 {
		return ""
	}
	return " where " + strings.Join(s.where, " and ")
}

// columns are the columns of the orders; up means that the order begins with the smallest.
var columns = map[index.Order]struct {
	name string
	up   bool
}{
	index.OrderWhen: {name: "at"}, index.OrderUsed: {name: "used"}, index.OrderMade: {name: "made"}, index.OrderSize: {name: "size"},
	index.OrderMessages: {name: "messages"}, index.OrderTokens: {name: "tokens"}, index.OrderCost: {name: "cost"},
	index.OrderHeading: {"heading", true}, index.OrderCWD: {"cwd", true},
}

// selects adds the conditions of a selection on treeline_index.log, as l.
func (s *statement) selects(sel *index.Selection) {
	s.and(fmt.Sprint("l.run = ", sel.Runs))
	if sel.Sessions {
		s.and("l.session")
	}
	if sel.Below != "" {
		// "0" follows the slash in byte order.
		s.and(`l.name > %s and l.name < %s`, valid(sel.Below)+"/", valid(sel.Below)+"0")
	}
	if sel.Sources != nil {
		s.and(`l.source = any(%s)`, names(sel.Sources))
	}
	if sel.Dialects != nil {
		s.and(`l.dialect = any(%s)`, names(sel.Dialects))
	}
	if sel.CWDs != nil {
		s.and(`l.cwd = any(%s)`, texts(sel.CWDs))
	}
	if sel.Models != nil {
		s.and(`l.models && %s::text[]`, texts(sel.Models))
	}
	if sel.Like != nil {
		s.and(`left(l.id, 8) = any(%s)`, texts(sel.Like))
	}
	if sel.IDs != nil {
		s.and(`l.id = any(%s)`, texts(sel.IDs))
	}
	if sel.Prefixes != nil {
		s.prefixes(sel.Prefixes)
	}
	if sel.Origins != nil {
		s.and(`l.origin = any(%s) and l.origin <> ''`, texts(sel.Origins))
	}
	if sel.Repeated {
		s.and(`exists (select from treeline_index.log o where o.id = l.id and o.log <> l.log and o.session)`)
	}
	if sel.Names != nil {
		s.and(`l.name = any(%s)`, names(sel.Names))
	}
	if sel.Files != nil {
		s.and(`substring(l.name from '[^/]*$') = any(%s)`, names(sel.Files))
	}
	if sel.Parents != nil {
		s.and(`l.parent = any(%s) and l.parent <> ''`, texts(sel.Parents))
	}
	if sel.Since != 0 {
		s.and(`l.at >= %s`, sel.Since)
	}
	if sel.Until != 0 {
		s.and(`l.at < %s`, sel.Until)
	}
	if sel.Latest != 0 {
		s.and(`l.touched >= %s`, sel.Latest)
	}
	if sel.MadeBefore != 0 {
		s.and(`l.made < %s`, sel.MadeBefore) // Unknown is less than all
	}
	if sel.Has != 0 {
		s.and(`l.has & %s = %s`, int(sel.Has), int(sel.Has))
	}
	if sel.First != 0 {
		s.and(`l.first = %s and l.first <> 0`, int64(sel.First))
	}
}

// prefixes adds the condition that an id begins with one of some texts.
func (s *statement) prefixes(list []string) {
	some := []string{"false"}
	for _, p := range texts(list) {
		some = append(some, fmt.Sprintf("l.id >= %s and l.id < %s", s.arg(p), s.arg(p+string(unicode.MaxRune))))
	}
	s.where = append(s.where, "("+strings.Join(some, " or ")+")")
}

// page adds the condition where a page begins, and returns the order and the limit. The condition on the first column alone is redundant:
// it lets an index scan begin there.
func (s *statement) page(sel *index.Selection) string {
	c, ok := columns[sel.Order]
	if !ok {
		c = columns[index.OrderWhen]
	}
	than, way := "<", "desc"
	if c.up {
		than, way = ">", "asc"
	}
	if p := sel.After; p != nil {
		value := p.Key
		if t, ok := value.(string); ok {
			value = text(t)
		}
		k, w, n := s.arg(value), s.arg(p.When), s.arg(p.Name)
		s.where = append(s.where, fmt.Sprintf("l.%s %s= %s and (l.%s %s %s or l.at < %s or l.at = %s and l.name > %s)",
			c.name, than, k, c.name, than, k, w, w, n))
	}
	order := fmt.Sprintf(" order by l.%s %s, l.at desc, l.name", c.name, way)
	if c.name == "at" {
		order = " order by l.at desc, l.name"
	}
	if sel.Limit > 0 {
		order += " limit " + s.arg(sel.Limit)
	}
	return order
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (*pgdb.Rows, error)
}

// found makes a log from its row.
func found(source string, entry []byte, chunks int) (*index.Found, error) {
	l, err := index.DecodeLog(entry, chunks)
	if err != nil {
		return nil, err
	}
	return &index.Found{Source: source, Log: l}, nil
}

// scan reads rows of source, entry and chunks.
func scan(rows *pgdb.Rows, take func(*index.Found)) error {
	defer rows.Close()
	for rows.Next() {
		var source string
		var entry []byte
		var chunks int
		if err := rows.Scan(&source, &entry, &chunks); err != nil {
			return err
		}
		l, err := found(source, entry, chunks)
		if err != nil {
			return err
		}
		take(l)
	}
	return rows.Err()
}

// Select implements index.Shared.
func (x *Index) Select(ctx context.Context, sel index.Selection) (list []index.Found, err error) {
	var s statement
	s.selects(&sel)
	order := s.page(&sel)
	err = x.read(ctx, func(p *pgdb.Pool) error {
		list, err = fetch(ctx, p, &s, order)
		return err
	})
	return list, err
}

// Count implements index.Shared.
func (x *Index) Count(ctx context.Context, sel index.Selection, q *query.Query) (n index.Counts, err error) {
	err = x.read(ctx, func(p *pgdb.Pool) error {
		var s statement
		s.selects(&sel)
		if q == nil {
			if sel.Limit <= 0 {
				sums := "select count(*), coalesce(sum(l.size), 0)::bigint, coalesce(max(l.touched), 0) from treeline_index.log l"
				return p.QueryRow(ctx, sums+s.clause(), s.args...).Scan(&n.Logs, &n.Bytes, &n.Newest)
			}
			sql := "select 1 from treeline_index.log l" + s.clause() + " limit " + s.arg(sel.Limit)
			return p.QueryRow(ctx, "select count(*) from ("+sql+") as fit", s.args...).Scan(&n.Logs)
		}
		return p.Snapshot(ctx, func(tx *pgdb.Tx) error {
			sums := "select count(*), coalesce(sum(l.chunks), 0) from treeline_index.log l"
			if err := tx.QueryRow(ctx, sums+s.clause(), s.args...).Scan(&n.Logs, &n.Chunks); err != nil {
				return err
			}
			terms := q.TermKeys()
			n.With = make([]int, len(terms))
			for i := range terms {
				if n.With[i], err = countWith(ctx, tx, sel, &terms[i], n.Chunks); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return n, err
}

// countWith counts the chunks that may have the keys, of logs that fit. It returns all if the keys exclude nothing.
func countWith(ctx context.Context, tx *pgdb.Tx, sel index.Selection, keys *query.Keys, all int) (n int, err error) {
	may, err := lookup(ctx, tx, keys)
	if err == nil {
		err = may.complete(ctx, tx)
	}
	if err != nil || may.all {
		return all, err
	}
	var s statement
	s.selects(&sel)
	s.and("c.id = any(%s)", may.ids)
	const sql = "select count(*) from treeline_index.chunk c join treeline_index.log l on l.log = c.log"
	err = tx.QueryRow(ctx, sql+s.clause(), s.args...).Scan(&n)
	return n, err
}

// values are the statements of Values. That for directories jumps from one to the next in the index, however many logs each has.
var values = map[index.Value]string{
	index.ValueModel: `select name from treeline_index.model order by name`,
	index.ValueCWD: `with recursive one as (
			(select cwd from treeline_index.log order by cwd limit 1)
			union all
			select (select l.cwd from treeline_index.log l where l.cwd > one.cwd order by l.cwd limit 1) from one where one.cwd is not null
		) select cwd from one where cwd is not null order by cwd`,
}

// valuesIn are the statements for sessions in certain directories.
var valuesIn = map[index.Value]string{
	index.ValueModel: `select distinct m from treeline_index.log l, unnest(l.models) m where l.cwd = any($1) and l.session order by m`,
	index.ValueCWD:   `select c from unnest($1::text[]) c where exists (select 1 from treeline_index.log l where l.cwd = c) order by c`,
}

// Values implements index.Shared.
func (x *Index) Values(ctx context.Context, v index.Value, cwds []string) (list []string, err error) {
	err = x.read(ctx, func(p *pgdb.Pool) error {
		sql, args := values[v], []any(nil)
		if cwds != nil {
			sql, args = valuesIn[v], []any{texts(cwds)}
		}
		rows, err := p.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		list, err = pgdb.CollectRows(rows, pgdb.RowTo[string])
		return err
	})
	return list, err
}

// IDs implements index.Shared.
func (x *Index) IDs(ctx context.Context, l *index.Found, n int, take func(from int64, hash uint32)) error {
	const sql = `select start, ids from treeline_index.chunk where log = $1 and n < $2 order by n`
	return x.read(ctx, func(p *pgdb.Pool) error {
		rows, err := p.Query(ctx, sql, key(l.Source, l.Name), n)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var from int64
			var ids []byte
			if err := rows.Scan(&from, &ids); err != nil {
				return err
			}
			for ; len(ids) >= 4; ids = ids[4:] {
				take(from, binary.LittleEndian.Uint32(ids))
			}
		}
		return rows.Err()
	})
}
