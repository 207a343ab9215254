// Package postgres keeps an index in the PostgreSQL database that has the logs (package backend/postgres), for all programs that use them.
// It implements index.Shared.
//
// # Tables
//
// They are in the schema treeline_index, which the first update makes, and which can be dropped. A row of log has everything that is known
// of one log, encoded, and the columns that lists filter and sort by, with an index for each order. A row of chunk describes about 64 KB of
// a log. The tables have no text of a session but what lists show.
//
// The keys of the words, phrases and trigrams of chunks are inverted: rows of posting have keys, each with the ids of the chunks that have
// it (posting.go). Each transaction that puts logs adds a segment of such rows, which never change. Segments of about the same size are
// merged into one (merge.go), so a search looks each key up in few of them (lookup.go). A chunk that is put again gets another id; the old
// id stays in its segment until the segment is merged, and leads to nothing.
//
// # Changes
//
// The feed of changes is treeline.log, ordered by the transaction that wrote last. A row of mark has the transaction up to which all
// changes were read. A mark is never beyond the oldest transaction that is still open (pg_snapshot_xmin), so nothing that commits late is
// missed. Logs that another program has brought up to date meanwhile are left out by a join, so reading the feed twice does no harm. If
// transaction ids are smaller than the mark, the database was restored on another server, and the feed is read from the beginning.
//
// # Several programs
//
// A log is put by a transaction that locks its row and compares the row with what the program knew when it began to read the log. If they
// differ, another program was faster, and nothing is put. A log that is new to the index is locked in treeline.log, and put only if it has
// not been removed since. A removal locks the row before the statement that deletes it, which then sees all that was put. One program at a
// time merges. A search is a transaction that sees one state of all tables.
//
// Rows of pending are groups of logs that must be compared (index.Group). Each put or removal of one of their logs gives them a new number.
// The result of a comparison is put by a transaction that locks these rows and deletes them, if they still have the numbers that they had
// before the logs were read (pending.go).
//
// A program that may not write to the database reads the index as it is.
package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

//go:embed migration/*.sql
var migrations embed.FS

// Index is the index in a database. It connects when it is used first.
type Index struct {
	db *pgdb.DB
}

// Open opens the index in the database at a URL. It makes no connection yet.
func Open(url string) (*Index, error) {
	db, err := pgdb.Open(url, pgdb.Options{Schema: pgdb.Schema{Name: "treeline_index", Files: migrations}})
	if err != nil {
		return nil, err
	}
	return &Index{db: db}, nil
}

// Close implements index.Shared.
func (x *Index) Close() error {
	x.db.Close()
	return nil
}

// read runs do, which only reads. Without tables do is not called.
func (x *Index) read(ctx context.Context, do func(p *pgdb.Pool) error) error {
	err := x.db.Read(ctx, do)
	if errors.Is(err, pgdb.ErrEmpty) {
		return nil
	}
	return err
}

// key returns the key of a log in all tables, the one that backend/postgres uses.
func key(source, name string) (k [16]byte) {
	sum := sha256.Sum256([]byte(source + "/" + name))
	copy(k[:], sum[:])
	return k
}

// split splits a name of the archive.
func split(name string) (source, rest string, ok bool) {
	origin, rest, _ := strings.Cut(name, "/")
	source, rest, ok = strings.Cut(rest, "/")
	return origin + "/" + source, rest, ok
}

// longest is how many bytes of a text are compared: a row of a B-tree must be short.
const longest = 600

// text cuts a text to the length that is compared, and makes it valid. It is idempotent, so a text from the database can be looked up.
func text(s string) string {
	s = valid(s[:min(len(s), longest)])
	return valid(s[:min(len(s), longest)]) // the replacement of a zero byte is longer
}

// valid replaces what the database refuses in a text: invalid UTF-8 and zero bytes.
func valid(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "\uFFFD")
}

func texts(list []string) []string { return made(list, text) }

// names makes texts valid that are kept whole.
func names(list []string) []string { return made(list, valid) }

func made(list []string, of func(string) string) []string {
	made := make([]string, len(list))
	for i := range list {
		made[i] = of(list[i])
	}
	return made
}

// folded returns a heading as it is sorted.
func folded(heading string) string { return text(strings.ToLower(heading)) }

var _ index.Shared = (*Index)(nil)

// Driver returns the driver for the scheme postgres.
func Driver() index.Driver {
	return index.Driver{Scheme: "postgres", Open: func(root string) (index.Shared, error) { return Open(root) }}
}
