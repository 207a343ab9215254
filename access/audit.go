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

// Outcome is what became of a request that the audit log has.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused" // it was not allowed
	Failed  Outcome = "failed"  // it was allowed and did not work
)

// Record is something that happened, as the audit log has it.
type Record struct {
	// Time is when it happened or, of several equal ones, the first.
	Time time.Time
	// Token, User and Machine are those of the grant; "" for a request without a good token.
	Token, User, Machine string
	// Address is where the request came from.
	Address string
	// Action is what was asked for: the name of an operation.
	Action string
	// Target is what it was about: the path of a session or the name of a log; "" for none. Project is its working directory.
	Target, Project string
	Outcome         Outcome
	// Reason says why it was refused or failed.
	Reason string
	// Count is how many equal ones happened at about the same time.
	Count int
}

// Query narrows the records of the audit log. The zero value lets all through.
type Query struct {
	// Token and User, if set, are those of the records.
	Token, User string
	// Outcome, if set, is that of the records.
	Outcome Outcome
	// Since is the first moment that passes, Until the first that does not.
	Since, Until time.Time
	// Limit is how many records are wanted, the newest; 0 is all.
	Limit int
}

// Passes reports whether a query lets a record through.
func (q Query) Passes(r Record) bool {
	return (q.Token == "" || q.Token == r.Token) && (q.User == "" || q.User == r.User) && (q.Outcome == "" || q.Outcome == r.Outcome) &&
		!r.Time.Before(q.Since) && (q.Until.IsZero() || r.Time.Before(q.Until))
}

// Bounds of a Journal.
const (
	// journalTime is how long a note waits for others.
	journalTime = time.Second
	// journalMost is how many records wait; further ones are counted in a record that says so.
	journalMost = 4096
	// useTime is how exact the time of the last use is.
	useTime = time.Minute
	// textMost is how long a text of a record is.
	textMost = 500
)

// Journal writes the audit log of a server. A note costs the request nothing: notes wait a second for others, equal ones
// become one with a count, and all are written together. So a crash loses the notes of the last second. A book that cannot be
// written is tried again; notes of more than a few thousand records are then only counted.
type Journal struct {
	book    Book
	problem func(error)

	mu    sync.Mutex
	notes map[Record]note // by what it says, without Time and Count
	used  map[string]time.Time
	told  map[string]time.Time // uses that were written

	wake chan struct{}
	stop chan struct{}
	done chan struct{}
}

// note is when a record was first noted, and how often.
type note struct {
	first time.Time
	count int
}

// NewJournal begins to write to a book. problem is told what cannot be written.
func NewJournal(book Book, problem func(error)) *Journal {
	j := &Journal{
		book: book, problem: problem, notes: map[Record]note{}, used: map[string]time.Time{}, told: map[string]time.Time{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go j.run()
	return j
}

// Note adds a record.
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

// Use notes that a token is used. It is written once a minute.
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
	default: // it is awake
	}
}

// run writes what was noted until Close.
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
		if err := j.flush(context.Background()); err != nil {
			j.problem(err)
			select {
			case <-j.stop:
				return
			case <-time.After(5 * journalTime): // then again
			}
			j.rouse()
		}
	}
}

// flush writes what was noted. What cannot be written stays.
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
			maps.Copy(used, j.used) // later ones win
			j.used = used
			j.mu.Unlock()
		}
	}
	return err
}

// Close writes what is left, for at most a few seconds. Nothing may be noted afterwards.
func (j *Journal) Close() error {
	close(j.stop)
	<-j.done
	ctx, cancel := context.WithTimeout(context.Background(), 5*journalTime)
	defer cancel()
	return j.flush(ctx)
}

// clean makes a text fit for a book and for a terminal: it may come from a client.
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
