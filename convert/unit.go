package convert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// atom is a part of a message that the model sees.
type atom struct {
	role  session.Role // RoleTool for a result, wherever it stands
	part  session.Part
	entry int // -1 where the program made it up
	info  *dialect.NewMessage
	// stretch is the part of the path that it belongs to; old reports whether the records of that part are restored.
	stretch int
	old     bool
}

// unit is a message to be written and the entries that it comes from.
type unit struct {
	dialect.NewMessage
	entries []int
	stretch int
	// answers are the results of its calls, if a branch with other results gets a separate message.
	answers []session.Part
}

// context returns what the model sees at an entry, without thinking: a signature of another agent is not valid. Messages in which an agent
// tells the model about itself are left out, because the other agent makes its own.
func (s *script) context(at session.EntryID) ([]atom, error) {
	// Messages that are made from a path already have the form that is sent. Without LLM, what else they say, such as that a call failed,
	// is not lost.
	c, err := session.BuildContext(s.tree, at, session.ContextOptions{LLM: !s.tree.Replayed(), Resolve: s.resolve, Restore: func(e session.Entry, record []byte) []byte {
		if whole, err := s.whole(e); err == nil {
			return whole
		}
		return record
	}})
	if err != nil {
		return nil, err
	}
	failed, err := s.failed(at)
	if err != nil {
		return nil, err
	}
	codec := s.from.Codec()
	models := s.modelsTo(at)
	var list []atom
	for m, err := range c.Messages() {
		if err != nil {
			return nil, err
		}
		role := codec.Role(m.JSON)
		if m.Made || role == session.RoleSystem && s.tree.Replayed() {
			continue
		}
		info := s.infoOf(m.Entry, models)
		info.Role = role
		index := -1
		if m.Entry.ID != "" {
			index = m.Entry.Index
		}
		for _, p := range dialect.Spoken(s.parts(m.JSON)) {
			a := atom{role: role, part: p, entry: index, info: info}
			switch p := p.(type) {
			case session.Thinking, session.OpaquePart:
				continue
			case session.ToolResult:
				a.role = session.RoleTool
				p.Parts = dialect.Spoken(p.Parts)
				p.IsError = p.IsError || failed[p.CallID]
				a.part = p
			case session.ToolCall:
				p.Arguments = dialect.AnyArguments(p.Arguments)
				a.part = p
			}
			if _, result := p.(session.ToolResult); role == session.RoleTool && !result {
				continue // it answers nothing
			}
			list = append(list, a)
		}
	}
	return list, nil
}

// modelAt is a model that is in use from an entry on.
type modelAt struct {
	from int
	session.ModelRef
}

// modelsOf returns the models that entries name, by the position of the entry, for agents whose answers do not name their model.
func modelsOf(t *session.Tree) map[int]session.ModelRef {
	models := map[int]session.ModelRef{}
	for e := range t.Entries() {
		if e.Kind != session.KindModelChange {
			continue
		}
		body, err := e.Body()
		if m, ok := body.(session.ModelChange); err == nil && ok && m.Role == "default" {
			models[e.Index] = session.ModelRef{Provider: m.Provider, Model: m.ModelID}
		}
	}
	return models
}

// modelsTo returns the models on the path to an entry, in the order of the log.
func (s *script) modelsTo(at session.EntryID) (list []modelAt) {
	path, err := s.tree.Path(at)
	if err != nil || len(s.models) == 0 {
		return nil
	}
	for _, i := range path.Indexes() {
		if m, ok := s.models[int(i)]; ok {
			list = append(list, modelAt{int(i), m})
		}
	}
	sorting.By(list, func(a, b modelAt) int { return cmp.Compare(a.from, b.from) })
	return list
}

// infoOf returns what is known of a message besides its parts. An answer that the program sends is treated as one that did not fail.
func (s *script) infoOf(e session.Entry, models []modelAt) *dialect.NewMessage {
	m := &dialect.NewMessage{Time: s.clock}
	if e.ID == "" {
		return m
	}
	m.Time = s.timeAt(e)
	if k := sort.Search(len(models), func(k int) bool { return models[k].from > e.Index }); k > 0 {
		m.Provider, m.Model = models[k-1].Provider, models[k-1].Model
	}
	body, err := e.Body()
	if err != nil {
		return m
	}
	switch b := body.(type) {
	case session.Message:
		m.Meta, m.Usage = b.Meta, b.Usage
		if b.Model != "" {
			m.Provider, m.Model = b.Provider, b.Model
		}
		if at, ok := b.Time.Time(); ok {
			m.Time = at.Round(time.Microsecond)
		}
		if dialect.StopOf(b.Stop) == dialect.StopLength {
			m.Stop = dialect.StopLength
		}
	case session.Compaction, session.BranchSummary, session.CustomMessage:
		m.Meta = true
	}
	if m.Model != "" && m.Provider == "" {
		m.Provider = dialect.ProviderOf(m.Model)
	}
	return m
}

// units makes messages that every provider accepts. Consecutive answers are one message, each result stands right behind the message with
// its call, every call has one result, and no id of a call is used twice. Old atoms only show which calls a result may answer.
func (s *script) units(atoms []atom) []unit {
	b := newCasting(s.to.Dialect)
	b.restored = s.restored.ids
	for _, id := range b.restored {
		b.used[id] = true
	}
	for _, a := range atoms {
		b.add(a)
	}
	list := b.units(s.restored.open)
	if s.to.Habits().ResultsInCalls {
		list = foldResults(list)
	}
	if s.to.Habits().ResultsOfBranches {
		for k := 1; k < len(list); k++ {
			if list[k].Role == session.RoleTool {
				list[k-1].answers = list[k].Parts
			}
		}
	}
	return list
}

// call is a call and its result, if there is one.
type call struct {
	id, name string
	old      bool
	late     bool // it is old, and its result is new
	result   *session.ToolResult
	entry    int
	stretch  int // of the result
	order    int // of the result
	at       time.Time
}

// place returns the order of the result; missing results come last.
func (c *call) place() int {
	if c.result == nil {
		return math.MaxInt
	}
	return c.order
}

// draft is a message that is being put together.
type draft struct {
	unit
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

// newCasting returns a casting for a target.
func newCasting(target dialect.Dialect) *casting {
	b := &casting{calls: map[string]*call{}, used: map[string]bool{}, tried: map[string]int{}, old: map[string]*call{}}
	b.namer, _ = target.(dialect.CallNamer)
	return b
}

// add takes the next atom.
func (b *casting) add(a atom) {
	switch p := a.part.(type) {
	case session.ToolResult:
		b.answer(a, p)
	case session.ToolCall:
		if p.ID == "" || a.role != session.RoleAssistant {
			return
		}
		c := &call{name: p.Name, old: a.old, entry: -1}
		if a.old {
			c.id = b.restored[p.ID]
		}
		if c.id == "" {
			c.id = b.unique(p.ID)
		}
		if b.calls[p.ID] = c; c.old {
			b.old[c.id] = c
		}
		if p.ID = c.id; !a.old {
			a.part = p
			d := b.put(a)
			d.calls = append(d.calls, c)
		}
	default:
		if !a.old {
			b.put(a)
		}
	}
}

// answer adds a result to its call. Only the first result of a call counts; a result without a call is left out.
func (b *casting) answer(a atom, r session.ToolResult) {
	b.closed = true
	c := b.calls[r.CallID]
	if c == nil || c.result != nil {
		return
	}
	if c.late = c.old && !a.old; c.late {
		b.late = append(b.late, c)
	}
	r.CallID, r.Name = c.id, c.name
	b.answered++
	c.result, c.stretch, c.order, c.at = &r, a.stretch, b.answered, a.info.Time
	if !a.old { // otherwise its entry is restored
		c.entry = a.entry
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
func (b *casting) put(a atom) *draft {
	var d *draft
	if n := len(b.drafts); n > 0 {
		d = b.drafts[n-1]
	}
	// Calls in a row run at once. Anything else after a call is another answer.
	_, again := a.part.(session.ToolCall)
	if d == nil || d.Role != a.role || d.stretch != a.stretch || d.info != a.info && (a.role != session.RoleAssistant || b.closed || len(d.calls) > 0 && !again) {
		d = &draft{unit: unit{NewMessage: *a.info, stretch: a.stretch}, info: a.info}
		d.Role = a.role
		b.drafts = append(b.drafts, d)
		b.closed = false
	}
	d.Parts = append(d.Parts, a.part)
	if d.info != a.info { // the last of several answers that are one message
		d.info = a.info
		d.Usage, d.Stop = a.info.Usage, a.info.Stop
		if a.info.Model != "" {
			d.Provider, d.Model = a.info.Provider, a.info.Model
		}
	}
	d.entries = addEntry(d.entries, &d.seen, a.entry)
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
func (b *casting) units(open [][]session.ToolCall) (list []unit) {
	for k, calls := range open {
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
		u.stretch = rest[0].stretch
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
		list = append(list, d.unit)
		if len(d.calls) > 0 {
			u := results(d.calls, d.Time)
			u.stretch = d.stretch
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
	case c.result != nil && !c.late && c.stretch > stretch:
		return // restored records answer it later
	}
	if c.stretch = stretch; !c.late {
		c.late = true
		b.late = append(b.late, c)
	}
}

// results returns the message with the results of some calls, in the order in which they came.
func results(calls []*call, at time.Time) unit {
	u := unit{NewMessage: dialect.NewMessage{Role: session.RoleTool, Time: at}}
	var seen map[int]bool
	calls = slices.Clone(calls)
	sorting.By(calls, func(a, b *call) int {
		return cmp.Compare(a.place(), b.place())
	})
	for _, c := range calls {
		r := missingResult(c.id, c.name)
		if c.result != nil {
			r = *c.result
		}
		if c.at.After(u.Time) {
			u.Time = c.at
		}
		u.Parts = append(u.Parts, r)
		u.entries = addEntry(u.entries, &seen, c.entry)
	}
	return u
}

// foldResults puts results into the message with their calls.
func foldResults(units []unit) (list []unit) {
	var seen map[int]bool // of the last message
	for _, u := range units {
		if n := len(list) - 1; u.Role == session.RoleTool && n >= 0 && list[n].Role == session.RoleAssistant && list[n].stretch == u.stretch {
			list[n].Parts = append(list[n].Parts, u.Parts...)
			for _, i := range u.entries {
				list[n].entries = addEntry(list[n].entries, &seen, i)
			}
			continue
		}
		list, seen = append(list, u), nil
	}
	return list
}

// key identifies a message after another.
func (u unit) key(before [sha256.Size]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(before[:])
	hashTexts(h, u.Role.String())
	hashParts(h, u.Parts)
	hashParts(h, u.answers)
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

func hexKey(key [sha256.Size]byte) string { return hex.EncodeToString(key[:16]) }
