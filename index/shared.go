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

// Shared is an index beside the logs in a database. All programs that use the logs share it. It learns from the database which
// logs changed, and it answers filters, orders, pages and searches itself, so that a list of a million sessions costs no more
// than its page. Everything in it is derived: it can be dropped at any time.
//
// A source is the folder of an archive in which its logs are: ORIGIN/SOURCE; see backend.SplitArchived. Several programs may
// bring the index up to date at once. Each reads logs that changed and puts the result; what another one has put meanwhile is
// not overwritten. All methods may be called from several goroutines at once.
type Shared interface {
	// Changes returns what is to be done to bring the index up to date, at most so many logs and so many groups.
	Changes(ctx context.Context, most int) (Changes, error)

	// Put changes what is known of logs, all or nothing. A log is put only if the index knows of it what Log.Before says, and
	// Update.Compared is as Changes gave it: if not, another program was faster, and the error is ErrOvertaken. The mark is then not
	// kept; ask for the changes again. Update.Forget must not be set. The zero Mark changes nothing.
	Put(ctx context.Context, mark Mark, updates ...Update) error

	// Select returns a page of the logs that fit. Chunks and IDs are not filled in.
	Select(ctx context.Context, s Selection) ([]Found, error)

	// Count counts the logs that fit; Order and After do not matter. With a query, it also counts their chunks; without one it counts
	// no further than Limit, if that is set, and if it is not, it also gives their size and newest time.
	Count(ctx context.Context, s Selection, q *query.Query) (Counts, error)

	// Search returns logs that may match, with the chunks that may, in the order OrderUsed. next is where to go on; nil means that
	// there are no more. s.Limit is about how many logs are looked at for one answer.
	Search(ctx context.Context, s Selection, q *query.Query) (list []Found, next *Position, err error)

	// Values returns the values of a kind that occur, in order. Those of sessions that are gone may be among them. What it costs does
	// not depend on the number of logs, only on that of values. cwds limits it to the sessions in some working directories; nil
	// does not. Limited models cost as much as these sessions.
	Values(ctx context.Context, v Value, cwds []string) ([]string, error)

	// IDs calls take with the hashes of ids of the first n chunks of a log, as Index.IDs does.
	IDs(ctx context.Context, l *Found, n int, take func(from int64, hash uint32)) error

	// Close closes the connections.
	Close() error
}

// Counts are how many logs fit, how many chunks these have, and how many chunks may have each term of a query.
type Counts struct {
	Logs, Chunks int
	// Bytes is the size of the logs together, Newest the latest Facts.Touched; 0 if there are none.
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
	// ErrNone: the archive has no index that this program can use. Changes tells. All logs must be read instead.
	ErrNone = errors.New("the archive has no index")
)

// Changes is what is to be done to bring a Shared index up to date.
type Changes struct {
	// Logs differ from what the index knows, the oldest change first. A list shorter than was asked for has all of them.
	Logs []Change
	// Mark stands for the changes in Logs: pass it to Put with the last of them.
	Mark Mark
	// Compare are groups whose logs are to be compared, since one was put or removed; see Update.Compare. They stay in the index until
	// they are in Update.Compared, whatever becomes of the program that put the logs.
	Compare []Group
}

// Group is logs of which what is known depends on the others: those that begin with the same message, which is Summary.First, or, if that
// is 0, those of one session in one source. In Changes, Number is another one after each Update.Compare with the group.
type Group struct {
	First      uint64
	Source, ID string
	Number     int64
}

// Mark is how far the changes of the logs were looked at. Its content means nothing to callers.
type Mark string

// Change is a log that is not as the index knows it.
type Change struct {
	Source, Name string
	// Gone: it was removed.
	Gone bool
	// Known is what the index knows of it, nil if nothing.
	Known *Found
}

// Facts are what lists filter and sort by. They follow from the summary and from where the log is, of which the index knows
// nothing. Times are nanoseconds since 1970; Unknown if there is none.
type Facts struct {
	// ID, CWD, Title, Parent and Created are those of the row in a list: the name of a log may say what its records do not.
	ID, CWD, Title, Parent string
	Created                session.Time
	// Heading is what lists call the session.
	Heading string
	// When is the time that lists are ordered by, Made that of creation. Used is when the session was last used: nothing in it
	// is newer. Touched is the latest of these and of the last change of the log.
	When, Made, Used, Touched int64
	// Run: the log is that of a run, which has no summary. ID is the run's, and Parent is its session.
	Run bool
	// Left: the agent goes on with another log of the session, and lists and searches leave this one out.
	Left bool
	// Problem says why the log could not be read; it has no summary then.
	Problem string
}

// Unknown stands for a time that is not known. It is before all others.
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

// Order is what a Selection is sorted by. Equals are sorted by Facts.When, the newest first, and then by source and name.
type Order string

// The orders. All but OrderHeading and OrderCWD begin with the largest or the newest.
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
	// Below is a folder of the archive: "", ORIGIN or ORIGIN/SOURCE. Sources are the sources to which the selection is
	// limited; nil is all.
	Below   string
	Sources []string
	// Dialects and CWDs have the log's, Models one of the models that answered.
	Dialects, CWDs, Models []string
	// Like has the beginning of the session's id, as LikeID gives it.
	Like []string
	// IDs has the session's id, Names the log's name in the archive, Files the last part of that name. Parents has the parent that
	// the session names, or its last part if that is a path; see LastPart.
	IDs, Names, Files, Parents []string
	// Prefixes has the beginning of the session's id, Origins the session that it was converted from.
	Prefixes, Origins []string
	// Repeated: only sessions that share their id with another one are wanted; others may be among them.
	Repeated bool
	// Since and Until limit Facts.When; Latest is the earliest Facts.Touched, and MadeBefore limits Facts.Made, if that is
	// known. 0 sets no limit.
	Since, Until       int64
	Latest, MadeBefore int64
	Has                Has
	// First is that of the summary; 0 is any.
	First uint64
	// Runs are wanted, not sessions.
	Runs bool
	// Sessions: logs that are not sessions, that could not be read, or that have Facts.Left are left out.
	Sessions bool

	Order Order
	// After is the last log of the page before.
	After *Position
	// Limit is how many logs are wanted.
	Limit int
}

// LikeID is the beginning of an id by which similar ones are found: eight characters.
func LikeID(id string) string {
	n := 0
	for i := range id {
		if n++; n > 8 {
			return id[:i]
		}
	}
	return id
}

// LastPart is the last part of a path of any system, and of anything else the whole.
func LastPart(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// Position is a place in the order of a Selection.
type Position struct {
	// Key is the value that the list is sorted by: an int64, a float64 or a string.
	Key any
	// When and Name decide among equals. Name is that of the archive.
	When int64
	Name string
	// Rest means something to the Search that gave the position: what is left of an answer.
	Rest any `json:"-"`
}

// UnmarshalJSON reads a position with its numbers as they were: nanoseconds do not fit into a float.
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

// Fits reports whether a position that came from elsewhere can be one in an order.
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

// PositionOf is the position of a log in an order.
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

// EncodeLog returns the bytes from which DecodeLog makes a log again, without its chunks.
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

// EncodingVersion is another one after every change of what EncodeLog writes, or of its meaning, and of the keys of chunks.
const EncodingVersion = (logVersion<<8|sigVersion)<<8 | factsVersion

// logVersion is another one after every change of what writer.kept writes, or of its meaning.
const logVersion = 11

// factsVersion is another one after every change of what Facts say. 2: which log of a session the agent goes on with.
const factsVersion = 2

// DecodeLog reads what EncodeLog wrote. chunks is how many the index has of the log.
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
