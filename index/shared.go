package index

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/session"
)

// Shared is an index beside the logs in a database. All programs that use the logs share it. It learns from the database which logs
// changed, and it evaluates filters, orders, pages and searches itself, so that a list of a million sessions costs no more than its page.
// Everything in it is derived: it can be dropped at any time.
//
// A source is the folder ORIGIN/SOURCE of an archive, which has its logs; see backend.SplitArchived. Several programs may bring the index
// up to date at once. Each reads changed logs and puts the result; what another program has put meanwhile is not overwritten. All methods
// may be called from several goroutines at once.
type Shared interface {
	// Changes returns the work that brings the index up to date: at most so many logs and so many groups.
	Changes(ctx context.Context, most int) (Changes, error)

	// Put changes what is known of logs, all or nothing. It puts a log only if the index knows of it exactly Log.Before, and
	// Update.Compared must be as Changes returned it. Otherwise another program was faster, and the error is ErrOvertaken. The mark is then
	// not kept; call Changes again. Update.Forget must not be set. The zero Mark changes nothing.
	Put(ctx context.Context, mark Mark, updates ...Update) error

	// Select returns a page of the logs that fit. Chunks and IDs are not filled in.
	Select(ctx context.Context, s Selection) ([]Found, error)

	// Count counts the logs that fit; Order and After do not matter. With a query, it also counts their chunks. Without one, it counts no
	// further than Limit if that is set, and otherwise also returns their total size and newest time.
	Count(ctx context.Context, s Selection, q *query.Query) (Counts, error)

	// Search returns logs that may match, with the chunks that may, in the order OrderUsed. next is where to continue; nil means that there
	// are no more. s.Limit is about how many logs are examined for one answer.
	Search(ctx context.Context, s Selection, q *query.Query) (list []Found, next *Position, err error)

	// Values returns the values of a kind that occur, in order. Some may belong to sessions that are gone. The cost depends on the number
	// of values, not of logs. cwds, if not nil, limits it to the sessions in some working directories. With it, models cost as much as
	// these sessions.
	Values(ctx context.Context, v Value, cwds []string) ([]string, error)

	// IDs calls take with the hashes of ids of the first n chunks of a log, as Index.IDs does.
	IDs(ctx context.Context, l *Found, n int, take func(from int64, hash uint32)) error

	// Close closes the connections.
	Close() error
}

// Counts are how many logs fit, how many chunks these have, and how many of the chunks may have each term of a query.
type Counts struct {
	Logs, Chunks int
	// Bytes is the total size of the logs, Newest the latest Facts.Touched; 0 if there are none.
	Bytes, Newest int64
	With          []int
}

// Driver opens the indexes beside the logs of one kind of archive.
type Driver struct {
	// Scheme is the scheme of the archive's URL.
	Scheme string
	// Open opens the index of the archive at a root, as backend.Driver.Open takes it.
	Open func(root string) (Shared, error)
}

// Errors that callers of a Shared index tell apart with errors.Is.
var (
	// ErrOvertaken: another program has changed what is known of a log. Nothing was put.
	ErrOvertaken = errors.New("another program has updated the index at the same moment")
	// ErrReadOnly: this program may not bring the index up to date. It can still be read.
	ErrReadOnly = errors.New("the index cannot be written")
	// ErrNone: the archive has no index that this program can use. Changes returns it. All logs must be read instead.
	ErrNone = errors.New("the archive has no index")
)

// Changes is the work that brings a Shared index up to date.
type Changes struct {
	// Logs differ from what the index knows, the oldest change first. A list shorter than was asked for has all of them.
	Logs []Change
	// Mark stands for the changes in Logs: pass it to Put with the last of them.
	Mark Mark
	// Compare are groups whose logs must be compared, since one was put or removed; see Update.Compare. They stay in the index until they
	// are in Update.Compared, whatever becomes of the program that put the logs.
	Compare []Group
}

// Group is a set of logs whose known facts depend on each other: those that begin with the same message (Summary.First) or, if First is 0,
// those of one session in one source. In Changes, Number differs after each Update.Compare with the group.
type Group struct {
	First      uint64
	Source, ID string
	Number     int64
}

// Mark is the position up to which changes were read. Its content means nothing to callers.
type Mark string

// Change is a log that differs from what the index knows.
type Change struct {
	Source, Name string
	// Gone: the log was removed.
	Gone bool
	// Known is what the index knows of the log, nil if nothing.
	Known *Found
}

// Facts are what lists filter and sort by. They follow from the summary and from the place of the log, about which the index knows nothing.
// Times are nanoseconds since 1970; Unknown if there is none.
type Facts struct {
	// ID, CWD, Title, Parent and Created are those of the row in a list: the name of a log may tell what its records do not.
	ID, CWD, Title, Parent string
	Created                session.Time
	// Heading is the session's heading in lists.
	Heading string
	// When is the time that lists are ordered by, Made the time of creation. Used is when the session was last used: nothing in it is
	// newer. Touched is the latest of these and of the last change of the log.
	When, Made, Used, Touched int64
	// Run: the log is a run's, which has no summary. ID is the run's, and Parent is its session.
	Run bool
	// Left: the agent continues another log of the session, and lists and searches leave this one out.
	Left bool
	// Problem is why the log could not be read; it then has no summary.
	Problem string
}

// Unknown stands for an unknown time. It is before all others.
const Unknown = math.MinInt64

// Found is a log of a Shared index.
type Found struct {
	Source string
	Log
	// Spans are the chunks that may match, in order.
	Spans []Span
}

// Span is a chunk without its signature.
type Span struct {
	From, To int64
	// Odd is Chunk.Odd.
	Odd bool
}

// Order is what a Selection is sorted by. Ties are sorted by Facts.When, the newest first, and then by source and name.
type Order string

// The orders. All but OrderHeading and OrderCWD begin with the largest or newest.
const (
	OrderWhen     Order = "when"
	OrderUsed     Order = "used"
	OrderMade     Order = "made"
	OrderSize     Order = "size"
	OrderMessages Order = "messages"
	OrderTokens   Order = "tokens"
	OrderCost     Order = "cost"
	OrderHeading  Order = "heading"
	OrderCWD      Order = "cwd"
)

// Value is what Shared.Values lists: the names of models that answered in a session, or the working directories of sessions.
type Value string

// The values.
const (
	ValueModel Value = "model"
	ValueCWD   Value = "cwd"
)

// Selection says which logs are wanted. Conditions that are set must all hold.
type Selection struct {
	// Below is a folder of the archive: "", ORIGIN or ORIGIN/SOURCE. Sources limits the selection to some sources; nil means all.
	Below   string
	Sources []string
	// Dialects and CWDs must contain the log's, Models one of the models that answered.
	Dialects, CWDs, Models []string
	// Like must contain the beginning of the session's id, as LikeID returns it.
	Like []string
	// IDs must contain the session's id, Names the log's name in the archive, Files the last part of that name. Parents must contain the
	// parent that the session names, or its last part if that is a path; see LastPart.
	IDs, Names, Files, Parents []string
	// Prefixes must contain a prefix of the session's id, Origins the session that it was converted from. There are at most MostPrefixes.
	Prefixes, Origins []string
	// Repeated: only sessions that share their id with another one are wanted; the answer may also have others.
	Repeated bool
	// Since and Until limit Facts.When. Latest is the earliest Facts.Touched. MadeBefore limits Facts.Made, if that is known. 0 sets no
	// limit.
	Since, Until       int64
	Latest, MadeBefore int64
	Has                Has
	// First is the summary's; 0 means any.
	First uint64
	// Runs: runs are wanted instead of sessions.
	Runs bool
	// Sessions: leave out logs that are not sessions, that could not be read, or that have Facts.Left.
	Sessions bool

	Order Order
	// After is the last log of the page before.
	After *Position
	// Limit is how many logs are wanted.
	Limit int
}

// MostPrefixes is the largest number of Selection.Prefixes, since each is a condition of its own.
const MostPrefixes = 100

// LikeID returns the beginning of an id by which similar ones are found: eight characters.
func LikeID(id string) string {
	n := 0
	for i := range id {
		if n++; n > 8 {
			return id[:i]
		}
	}
	return id
}

// LastPart returns the last part of a path of any system; anything else is returned whole.
func LastPart(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// Position is a position in the order of a Selection.
type Position struct {
	// Key is the value that the list is sorted by: an int64, a float64 or a string.
	Key any
	// When and Name decide ties. Name is the name in the archive.
	When int64
	Name string
	// Rest has a meaning only for the Search that returned the position: the rest of an answer.
	Rest any `json:"-"`
}

// UnmarshalJSON reads a position with exact numbers: nanoseconds do not fit into a float.
func (p *Position) UnmarshalJSON(data []byte) error {
	type plain Position
	var read plain
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&read); err != nil {
		return err
	}
	if number, ok := read.Key.(json.Number); ok {
		whole, err := number.Int64()
		if read.Key = whole; err != nil {
			if read.Key, err = number.Float64(); err != nil {
				return err
			}
		}
	}
	*p = Position(read)
	return nil
}

// Fits reports whether a position from an untrusted source is possible in an order.
func (p *Position) Fits(o Order) (ok bool) {
	switch (&Found{Log: Log{Facts: &Facts{}}}).PositionOf(o).Key.(type) {
	case string:
		_, ok = p.Key.(string)
	case float64:
		if _, ok = p.Key.(float64); !ok {
			_, ok = p.Key.(int64) // a whole number
		}
	default:
		_, ok = p.Key.(int64)
	}
	return ok && strings.IndexByte(p.Name, 0) < 0
}

// PositionOf returns the position of a log in an order.
func (f *Found) PositionOf(o Order) *Position {
	p := &Position{When: f.Facts.When, Name: f.Source + "/" + f.Name}
	switch o {
	case OrderUsed:
		p.Key = f.Facts.Used
	case OrderMade:
		p.Key = f.Facts.Made
	case OrderSize:
		p.Key = f.Stamp.Size
	case OrderMessages:
		p.Key = int64(f.Summary.Messages)
	case OrderTokens:
		p.Key = f.Summary.Tokens.Total
	case OrderCost:
		p.Key = f.Summary.Cost
	case OrderHeading:
		p.Key = strings.ToLower(f.Facts.Heading)
	case OrderCWD:
		p.Key = f.Facts.CWD
	default:
		p.Key = f.Facts.When
	}
	return p
}

// EncodeLog encodes a log, without its chunks, for DecodeLog.
func EncodeLog(l *Log) []byte {
	var w writer
	alone := *l
	alone.pieces = nil // its chunks are kept elsewhere
	w.kept(&alone)
	f := l.Facts
	if f == nil {
		f = &Facts{}
	}
	for _, s := range []string{f.ID, f.CWD, f.Title, f.Parent, f.Created.Text, f.Heading, f.Problem} {
		w.string(s)
	}
	for _, n := range []int64{f.When, f.Made, f.Used, f.Touched} {
		w.varint(n)
	}
	w.uvarint(flagsOf(f.Run, f.Left))
	return w.data
}

// EncodingVersion changes with every change of what EncodeLog writes, or of its meaning, and of the keys of chunks.
const EncodingVersion = (logVersion<<8|sigVersion)<<8 | factsVersion

// logVersion must be increased with every change of what writer.kept writes, or of its meaning.
const logVersion = 11

// factsVersion must be increased with every change of what Facts say. 2: which log of a session the agent continues.
const factsVersion = 2

// DecodeLog decodes what EncodeLog wrote. chunks is how many chunks of the log the index has.
func DecodeLog(data []byte, chunks int) (Log, error) {
	var l Log
	r := reader{text: string(data), alone: true}
	l.Stamp.Generation = string(appendGeneration(nil, r.kept(&l)))
	f := &Facts{}
	l.Facts = f
	for _, s := range []*string{&f.ID, &f.CWD, &f.Title, &f.Parent, &f.Created.Text, &f.Heading, &f.Problem} {
		*s = r.string()
	}
	f.When, f.Made, f.Used, f.Touched = r.varint(), r.varint(), r.varint(), r.varint()
	flags := r.uvarint()
	f.Run, f.Left = flags&1 != 0, flags&2 != 0
	if r.bad || r.left() > 0 || len(l.pieces) > 0 {
		return Log{}, errDamaged
	}
	if chunks > 0 {
		l.pieces = []piece{{chunks: int32(chunks)}}
	}
	return l, nil
}
