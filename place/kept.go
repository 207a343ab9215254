package place

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
)

// Rows says where the rows of agents' own lists are kept, so that Listings and Recent do not read unchanged logs. Without Index nothing is
// kept.
type Rows struct {
	// Index returns the index, which may be opened after the Machine.
	Index func() *index.Index
	// Clock returns the time that the times of logs are compared with.
	Clock func() time.Time
}

// Racy reports whether the log may change again without a change of its time. Clocks of file systems advance in steps: of some milliseconds
// if the time has a fraction, of up to two seconds otherwise. Such a clock may be ahead of ours. A time far in the future was set by a
// program, and a change would give the log another one. The time of the inode's change advances with the kernel's clock, in steps of at
// most 10 ms.
func Racy(at backend.Log, now time.Time) bool {
	within := func(changed time.Time, step time.Duration) bool {
		age := now.Sub(changed)
		return age < step && age > -time.Hour
	}
	step := 50 * time.Millisecond
	if at.Time.Nanosecond() == 0 {
		step = 2 * time.Second
	}
	return within(at.Time, step) || at.Changed != 0 && within(time.Unix(0, at.Changed), 10*time.Millisecond)
}

// keptRows are the rows of some folders for one list: as they were kept, and as they are now. A row that was not asked for is forgotten:
// its log is gone. Its methods may be called from several goroutines at once.
type keptRows struct {
	ix    *index.Index // nil: nothing is kept
	clock func() time.Time
	list  string
	rest  bool

	mu      sync.Mutex
	before  map[string]map[string]index.Row // by folder
	now     map[string]map[string]index.Row
	asked   map[string]int // rows of before whose logs are still there
	changed map[string]bool
}

func (m *Machine) keptRows(list string, rest bool) *keptRows {
	var ix *index.Index
	if m.opt.Rows.Index != nil {
		ix = m.opt.Rows.Index()
	}
	return &keptRows{
		ix: ix, clock: m.opt.Rows.Clock, list: list, rest: rest, before: map[string]map[string]index.Row{}, now: map[string]map[string]index.Row{},
		asked: map[string]int{}, changed: map[string]bool{},
	}
}

// look reads the kept rows of a folder. save then forgets those whose logs are gone, even if no log is left.
func (k *keptRows) look(folder string) map[string]index.Row {
	if k.ix == nil {
		return nil
	}
	rows, ok := k.before[folder]
	if !ok {
		rows = k.ix.Rows(folder, k.list, k.rest)
		k.before[folder], k.now[folder] = rows, map[string]index.Row{}
	}
	return rows
}

// get returns the row of a log that did not change since the row was kept.
func (k *keptRows) get(r *Row) (index.Row, bool) {
	folder, name, log := Dir(r.Path), Base(r.Path), &r.Log
	if k.ix == nil {
		return index.Row{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	row, ok := k.look(folder)[name]
	if ok {
		k.asked[folder]++
	}
	if !ok || !row.Stamp.Same(log.Generation, log.Size, log.Time.UnixNano(), log.Changed) {
		return row, false
	}
	k.now[folder][name] = row
	return row, true
}

// put keeps the row of a log that was read after it was listed. The row of a log with a racy time is not kept.
func (k *keptRows) put(r *Row, head, rest []byte) {
	folder, name, log := Dir(r.Path), Base(r.Path), &r.Log
	if k.ix == nil || Racy(*log, k.clock()) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changed[folder] = true
	k.now[folder][name] = index.Row{
		Name: name, Head: head, Rest: rest,
		Stamp: index.Stamp{Generation: log.Generation, Size: log.Size, Nanos: log.Time.UnixNano(), Changed: log.Changed},
	}
}

// save writes the folders that changed. If rows were read without their rests, it reads those of unchanged rows first.
func (k *keptRows) save() {
	for folder, now := range k.now {
		gone := k.asked[folder] < len(k.before[folder])
		if !k.changed[folder] && !gone {
			continue
		}
		var full map[string]index.Row
		if !k.rest {
			full = k.ix.Rows(folder, k.list, true)
		}
		for name, row := range now {
			if old, ok := full[name]; ok && row.Rest == nil {
				row.Rest = old.Rest
				now[name] = row
			}
		}
		if gone { // forget them in the other lists, too
			k.ix.ForgetRows(folder)
		}
		k.ix.KeepRows(folder, k.list, now)
	}
}

// listingHead is the first line of the head of a row of Listings; the row follows on the next line. If the row has texts, the head has the
// row without them, and the rest has the row with them.
type listingHead struct {
	Shown, Texts bool
	CWD          string
	Modified     time.Time
}

// listing returns the kept row of a log, or reads the log and keeps the row. It is nil if the agent does not show the log.
func (k *keptRows) listing(r *Row, read func() (*dialect.Listing, bool)) *dialect.Listing {
	if row, ok := k.get(r); ok {
		line, text, _ := bytes.Cut(row.Head, []byte{'\n'})
		var head listingHead
		switch {
		case json.Unmarshal(line, &head) != nil:
		case !head.Shown:
			return nil
		case head.Texts:
			return &dialect.Listing{JSON: row.Rest, Plain: text, CWD: head.CWD, Modified: head.Modified}
		default:
			return &dialect.Listing{JSON: text, CWD: head.CWD, Modified: head.Modified}
		}
	}
	row, sure := read()
	if !sure {
		return row
	}
	var head listingHead
	var text, rest []byte
	if row != nil {
		head, text = listingHead{Shown: true, CWD: row.CWD, Modified: row.Modified}, row.JSON
		if row.Plain != nil {
			head.Texts, text, rest = true, row.Plain, row.JSON
		}
	}
	if line, err := json.Marshal(head); err == nil {
		k.put(r, append(append(line, '\n'), text...), rest)
	}
	return row
}

// summaryHead is the head of a row for an agent without a form of its own for it.
type summaryHead struct {
	Shown bool
	dialect.Summary
}

// summaryOf returns what is kept of a log for such a row.
func (k *keptRows) summaryOf(r *Row) (head summaryHead, ok bool) {
	row, ok := k.get(r)
	if ok {
		ok = json.Unmarshal(row.Head, &head) == nil
	}
	return head, ok
}

// summary fills in a row from what is kept, or calls read and keeps the result. A row without a dialect is not shown.
func (k *keptRows) summary(r *Row, d dialect.Dialect, read func() (sure bool)) {
	if head, ok := k.summaryOf(r); ok {
		if head.Shown {
			r.Dialect, r.Summary = d, head.Summary
		}
		return
	}
	listed := *r // reading may update r.Log
	if !read() {
		return
	}
	if text, err := json.Marshal(summaryHead{r.Dialect != nil, r.Summary}); err == nil {
		k.put(&listed, text, nil)
	}
}

// recentHead is the head of a row of Recent. Active is the time of the last message, if the agent sorts by it. Named: the name is known.
// Shown: the log is a session.
type recentHead struct {
	Active       string
	Named, Shown bool
	dialect.Recent
}

// recentOf returns what is kept of a log for Recent.
func (k *keptRows) recentOf(r *Row) (head recentHead, ok bool) {
	row, ok := k.get(r)
	if ok {
		ok = json.Unmarshal(row.Head, &head) == nil
	}
	return head, ok
}

func (k *keptRows) keepRecent(r *Row, head recentHead) {
	if text, err := json.Marshal(head); err == nil {
		k.put(r, text, nil)
	}
}
