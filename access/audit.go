package access

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/treeline-dev/treeline/internal/sorting"
)

// Outcome is the outcome of a request in the audit log.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused" // it was not allowed
	Failed  Outcome = "failed"  // it was allowed, but did not work
)

// Record is an event in the audit log.
type Record struct {
	// Time is the time of the event or, of several equal ones, the first.
	Time time.Time
	// Token, User and Machine are those of the grant; "" for a request without a valid token.
	Token, User, Machine string
	// Address is where the request came from.
	Address string
	// Action is the name of the operation.
	Action string
	// Target is the path of a session or the name of a log; "" for none. Project is its working directory.
	Target, Project string
	Outcome         Outcome
	// Reason says why it was refused or failed.
	Reason string
	// Count is the number of equal events at about the same time.
	Count int
}

// Query selects records of the audit log. The zero value selects all.
type Query struct {
	// Token and User, if set, must be those of the record.
	Token, User string
	// Outcome, if set, must be that of the record.
	Outcome Outcome
	// Since is the first time that is selected, Until the first that is not.
	Since, Until time.Time
	// Limit is the largest number of records, of which the newest are selected; 0 means all.
	Limit int
}

// Passes reports whether a query selects a record.
func (q Query) Passes(r Record) bool {
	return (q.Token == "" || q.Token == r.Token) && (q.User == "" || q.User == r.User) && (q.Outcome == "" || q.Outcome == r.Outcome) &&
		!r.Time.Before(q.Since) && (q.Until.IsZero() || r.Time.Before(q.Until))
}

// Bounds of a Journal.
const (
	// journalTime is how long a record waits for others.
	journalTime = time.Second
	// journalMost is the largest number of records that wait. Further ones are only counted, in a record that says so.
	journalMost = 4096
	// useTime is the precision of the time of the last use.
	useTime = time.Minute
	// textMost is the largest length of a text in a record.
	textMost = 500
)

// Journal writes the audit log of a server. Adding a record does not delay the request: records wait a second for others, equal ones become
// one with a count, and all are written together. So a crash loses the records of the last second. If the book cannot be written, the
// Journal tries again; after a few thousand waiting records, further ones are only counted.
type Journal struct {
	book    Book
	problem func(error)

	mu    sync.Mutex
	notes map[Record]note // by the record without Time and Count
	used  map[string]time.Time
	told  map[string]time.Time // uses that were written

	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}
	ctx    context.Context // of writes; ends some time after stop
	cancel context.CancelFunc
}

// note says when a record was first added, and how often.
type note struct {
	first time.Time
	count int
}

// NewJournal returns a Journal for a book. problem is called with errors of writing.
func NewJournal(book Book, problem func(error)) *Journal {
	j := &Journal{
		book: book, problem: problem, notes: map[Record]note{}, used: map[string]time.Time{}, told: map[string]time.Time{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	go j.run()
	return j
}

// Note adds a record. It does not wait.
func (j *Journal) Note(r Record) {
	at, count := r.Time, max(r.Count, 1)
	for _, text := range []*string{&r.Token, &r.User, &r.Machine, &r.Address, &r.Action, &r.Target, &r.Project, &r.Reason} {
		*text = clean(*text)
	}
	r.Time, r.Count = time.Time{}, 0
	j.mu.Lock()
	if _, known := j.notes[r]; !known && len(j.notes) >= journalMost {
		r = Record{Action: "many", Outcome: r.Outcome, Reason: "too many records at once: these are only counted"}
	}
	n := j.notes[r]
	if n.count == 0 {
		n.first = at
	}
	n.count += count
	j.notes[r] = n
	j.mu.Unlock()
	j.rouse()
}

// Use notes the use of a token. It is written at most once a minute.
func (j *Journal) Use(token string, at time.Time) {
	j.mu.Lock()
	fresh := at.Sub(j.told[token]) >= useTime
	if fresh {
		j.used[token], j.told[token] = at, at
	}
	j.mu.Unlock()
	if fresh {
		j.rouse()
	}
}

func (j *Journal) rouse() {
	select {
	case j.wake <- struct{}{}:
	default: // run is awake already
	}
}

// run writes waiting records until Close.
func (j *Journal) run() {
	defer close(j.done)
	for {
		select {
		case <-j.stop:
			return
		case <-j.wake:
		}
		select {
		case <-j.stop:
			return
		case <-time.After(journalTime):
		}
		if err := j.flush(j.ctx); err != nil {
			j.problem(err)
			select {
			case <-j.stop:
				return
			case <-time.After(5 * journalTime): // try again
			}
			j.rouse()
		}
	}
}

// flush writes waiting records. What cannot be written stays.
func (j *Journal) flush(ctx context.Context) error {
	j.mu.Lock()
	notes, used := j.notes, j.used
	j.notes, j.used = map[Record]note{}, map[string]time.Time{}
	j.mu.Unlock()
	list := make([]Record, 0, len(notes))
	for r, n := range notes {
		r.Time, r.Count = n.first, n.count
		list = append(list, r)
	}
	sorting.By(list, func(a, b Record) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Action, b.Action)) })
	var err error
	if len(list) > 0 {
		if err = j.book.Note(ctx, list...); err != nil {
			for _, r := range list {
				j.Note(r)
			}
		}
	}
	if len(used) > 0 {
		if more := j.book.Touch(ctx, used); more != nil {
			err = errors.Join(err, more)
			j.mu.Lock()
			maps.Copy(used, j.used) // later times win
			j.used = used
			j.mu.Unlock()
		}
	}
	return err
}

// Close writes what is waiting, for at most a few seconds. Nothing may be added after it.
func (j *Journal) Close() error {
	close(j.stop)
	ctx, cancel := context.WithTimeout(context.Background(), 5*journalTime)
	defer cancel()
	defer context.AfterFunc(ctx, j.cancel)()
	<-j.done
	j.cancel()
	return j.flush(ctx)
}

// clean makes a text suitable for a book and for a terminal, because it may come from a client.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "_")
	if len(text) > textMost {
		text = strings.ToValidUTF8(text[:textMost], "") + "…"
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return '_'
		}
		return c
	}, text)
}
