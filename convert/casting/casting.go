// Package casting makes messages that every provider accepts from the parts that a model sees: consecutive answers are one message, each
// result directly follows the message with its call, every call has one result, and no id of a call is used twice. It does not depend on
// package convert.
package casting

import (
	"cmp"
	"crypto/sha256"
	"hash"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// Atom is a part of a message that the model sees.
type Atom struct {
	Role  session.Role // RoleTool for a result, wherever it stands
	Part  session.Part
	Entry int // -1 where the program made it up
	Info  *dialect.NewMessage
	// Stretch is the part of the path that it belongs to; Old reports whether the records of that part are restored.
	Stretch int
	Old     bool
}

// Unit is a message to be written and the entries that it comes from.
type Unit struct {
	dialect.NewMessage
	Entries []int
	Stretch int
	// Answers are the results of its calls, if a branch with other results gets a separate message.
	Answers []session.Part
}

// Restored is what restored records say of calls. The source may have other ids for them, and results that a conversion made: a session
// that ended with a call without a result has none when it comes back, and no provider accepts that.
type Restored struct {
	IDs map[string]string // the id of each call in the restored records, by its id in the source
	// Open has the calls that wait for a result at the beginning of a stretch. What follows a restored stretch begins with these results.
	Open [][]session.ToolCall
}

// Units returns the messages for a target. Old atoms only show which calls a result may answer.
func Units(to dialect.WritingDialect, atoms []Atom, restored Restored) []Unit {
	b := newCasting(to.Dialect)
	b.restored = restored.IDs
	for _, id := range b.restored {
		b.used[id] = true
	}
	for _, a := range atoms {
		b.add(a)
	}
	list := b.units(restored.Open)
	if to.Habits().ResultsInCalls {
		list = foldResults(list)
	}
	if to.Habits().ResultsOfBranches {
		for k := 1; k < len(list); k++ {
			if list[k].Role == session.RoleTool {
				list[k-1].Answers = list[k].Parts
			}
		}
	}
	return list
}

// Namer returns a function that gives each call the id that it has in a dialect, in the order in which Units meets the calls.
func Namer(to dialect.Dialect) (name func(id string) string) { return newCasting(to).unique }

// NoResult is the text of Missing.
const NoResult = "[no result: the tool did not finish]"

// Missing returns a result for a call that has none: no provider accepts a call without a result.
func Missing(id, name string) session.ToolResult {
	return session.ToolResult{CallID: id, Name: name, Parts: dialect.TextParts(NoResult), IsError: true}
}

// call is a call and its result, if there is one.
type call struct {
	id, name string
	old      bool
	late     bool // it is old, and its result is new
	made     bool // its result was made by Missing
	result   *session.ToolResult
	entry    int
	stretch  int // of the result
	order    int // of the result
	at       time.Time
}

// place returns the order of the result. Missing results come last, also if an earlier conversion made them: then the same session comes back
// with the same order.
func (c *call) place() int {
	if c.result == nil || c.made {
		return math.MaxInt
	}
	return c.order
}

// draft is a message that is being put together.
type draft struct {
	Unit
	info  *dialect.NewMessage
	calls []*call
	seen  map[int]bool // see addEntry
}

// casting puts messages together from atoms.
type casting struct {
	drafts   []*draft
	calls    map[string]*call // the last of each id
	used     map[string]bool
	tried    map[string]int    // the last number that made an id unique
	namer    dialect.CallNamer // nil where any id will do
	restored map[string]string // the ids that calls have in the restored records
	old      map[string]*call  // restored calls, by these ids
	late     []*call           // restored calls whose results are not restored
	closed   bool              // a result came since the last answer
	answered int
}

// newCasting returns a casting for a dialect.
func newCasting(to dialect.Dialect) *casting {
	b := &casting{calls: map[string]*call{}, used: map[string]bool{}, tried: map[string]int{}, old: map[string]*call{}}
	b.namer, _ = to.(dialect.CallNamer)
	return b
}

// add takes the next atom.
func (b *casting) add(a Atom) {
	switch p := a.Part.(type) {
	case session.ToolResult:
		b.answer(a, p)
	case session.ToolCall:
		if p.ID == "" || a.Role != session.RoleAssistant {
			return
		}
		c := &call{name: p.Name, old: a.Old, entry: -1}
		if a.Old {
			c.id = b.restored[p.ID]
		}
		if c.id == "" {
			c.id = b.unique(p.ID)
		}
		if b.calls[p.ID] = c; c.old {
			b.old[c.id] = c
		}
		if p.ID = c.id; !a.Old {
			a.Part = p
			d := b.put(a)
			d.calls = append(d.calls, c)
		}
	default:
		if !a.Old {
			b.put(a)
		}
	}
}

// answer adds a result to its call. Only the first result of a call counts; a result without a call is left out.
func (b *casting) answer(a Atom, r session.ToolResult) {
	b.closed = true
	c := b.calls[r.CallID]
	if c == nil || c.result != nil {
		return
	}
	if c.late = c.old && !a.Old; c.late {
		b.late = append(b.late, c)
	}
	r.CallID, r.Name = c.id, c.name
	c.made = dialect.TextOf(r.Parts) == NoResult
	b.answered++
	c.result, c.stretch, c.order, c.at = &r, a.Stretch, b.answered, a.Info.Time
	if !a.Old { // otherwise its entry is restored
		c.entry = a.Entry
	}
}

// unique returns an id in the target's form that no earlier call has. Some agents number their calls anew in each turn.
func (b *casting) unique(id string) string {
	if b.namer != nil {
		id = b.namer.CallID(id)
	}
	name := id
	k := max(b.tried[id], 1)
	for b.used[name] {
		k++
		if name = id + "-" + strconv.Itoa(k); b.namer != nil {
			name = b.namer.CallID(name)
		}
	}
	b.used[name], b.tried[id] = true, k
	return name
}

// put adds an atom to its message.
func (b *casting) put(a Atom) *draft {
	var d *draft
	if n := len(b.drafts); n > 0 {
		d = b.drafts[n-1]
	}
	// Calls in a row run at once. Anything else after a call is another answer.
	_, again := a.Part.(session.ToolCall)
	if d == nil || d.Role != a.Role || d.Stretch != a.Stretch || d.info != a.Info && (a.Role != session.RoleAssistant || b.closed || len(d.calls) > 0 && !again) {
		d = &draft{Unit: Unit{NewMessage: *a.Info, Stretch: a.Stretch}, info: a.Info}
		d.Role = a.Role
		b.drafts = append(b.drafts, d)
		b.closed = false
	}
	d.Parts = append(d.Parts, a.Part)
	if d.info != a.Info { // the last of several answers that are one message
		d.info = a.Info
		d.Usage, d.Stop = a.Info.Usage, a.Info.Stop
		if a.Info.Model != "" {
			d.Provider, d.Model = a.Info.Provider, a.Info.Model
		}
	}
	d.Entries = addEntry(d.Entries, &d.seen, a.Entry)
	return d
}

// addEntry adds an entry to the list of those that a message comes from, which may be very many. seen belongs to the list: it has all its
// entries if there are more than a few.
func addEntry(list []int, seen *map[int]bool, i int) []int {
	const few = 16
	switch n := len(list); {
	case i < 0 || n > 0 && list[n-1] == i:
		return list
	case n <= few:
		if slices.Contains(list, i) {
			return list
		}
	default:
		if *seen == nil {
			*seen = map[int]bool{}
			for _, k := range list {
				(*seen)[k] = true
			}
		}
		if (*seen)[i] {
			return list
		}
		(*seen)[i] = true
	}
	return append(list, i)
}

// units returns the messages with the results behind their calls. open are the restored calls that wait for a result where a stretch
// begins.
func (b *casting) units(open [][]session.ToolCall) (list []Unit) {
	// A call may wait at several stretches: its result stands before the first of them, directly after the call.
	for k, calls := range slices.Backward(open) {
		for _, o := range calls {
			b.await(o, k)
		}
	}
	sorting.By(b.late, func(a, b *call) int { return cmp.Compare(a.stretch, b.stretch) })
	for rest := b.late; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].stretch == rest[0].stretch {
			n++
		}
		u := results(rest[:n], time.Time{})
		u.Stretch = rest[0].stretch
		rest = rest[n:]
		list = append(list, u)
	}
	for _, d := range b.drafts {
		if d.Role == session.RoleAssistant && d.Stop == "" {
			d.Stop = dialect.StopEnd
			if len(d.calls) > 0 {
				d.Stop = dialect.StopTools
			}
		}
		list = append(list, d.Unit)
		if len(d.calls) > 0 {
			u := results(d.calls, d.Time)
			u.Stretch = d.Stretch
			list = append(list, u)
		}
	}
	return list
}

// await puts the result of a restored call where a stretch begins. If only a conversion made a result, so that the restored records do not
// have it, that is the one.
func (b *casting) await(o session.ToolCall, stretch int) {
	c := b.old[o.ID]
	switch {
	case c == nil:
		c = &call{id: o.ID, name: o.Name, entry: -1}
		b.old[o.ID] = c
	case c.result != nil && !c.late && c.stretch > stretch:
		return // restored records answer it later
	}
	if c.stretch = stretch; !c.late {
		c.late = true
		b.late = append(b.late, c)
	}
}

// results returns the message with the results of some calls, in the order in which they came.
func results(calls []*call, at time.Time) Unit {
	u := Unit{NewMessage: dialect.NewMessage{Role: session.RoleTool, Time: at}}
	var seen map[int]bool
	calls = slices.Clone(calls)
	sorting.By(calls, func(a, b *call) int {
		return cmp.Compare(a.place(), b.place())
	})
	for _, c := range calls {
		r := Missing(c.id, c.name)
		if c.result != nil {
			r = *c.result
		}
		if c.at.After(u.Time) {
			u.Time = c.at
		}
		u.Parts = append(u.Parts, r)
		u.Entries = addEntry(u.Entries, &seen, c.entry)
	}
	return u
}

// foldResults puts results into the message with their calls.
func foldResults(units []Unit) (list []Unit) {
	var seen map[int]bool // of the last message
	for _, u := range units {
		if n := len(list) - 1; u.Role == session.RoleTool && n >= 0 && list[n].Role == session.RoleAssistant && list[n].Stretch == u.Stretch {
			list[n].Parts = append(list[n].Parts, u.Parts...)
			for _, i := range u.Entries {
				list[n].Entries = addEntry(list[n].Entries, &seen, i)
			}
			continue
		}
		list, seen = append(list, u), nil
	}
	return list
}

// Key identifies a message after another.
func (u Unit) Key(before [sha256.Size]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(before[:])
	hashTexts(h, u.Role.String())
	hashParts(h, u.Parts)
	hashParts(h, u.Answers)
	h.Sum(sum[:0])
	return sum
}

func hashParts(h hash.Hash, parts []session.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			hashTexts(h, "text", p.Text)
		case session.ToolCall:
			hashTexts(h, "call", p.ID, p.Name, string(p.Arguments))
		case session.ToolResult:
			hashTexts(h, "result", p.CallID, strconv.FormatBool(p.IsError), strconv.Itoa(len(p.Parts)))
			hashParts(h, p.Parts)
		case session.Image:
			hashTexts(h, "image", p.MIME, p.Data)
		}
	}
}

// hashTexts writes each text after its length.
func hashTexts(h hash.Hash, texts ...string) {
	for _, t := range texts {
		_, _ = io.WriteString(h, strconv.Itoa(len(t))) // a hash never fails
		_, _ = io.WriteString(h, " ")
		_, _ = io.WriteString(h, t)
	}
}
