package session

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Rules say how contexts of one dialect differ from those of others. They are data, so that one algorithm serves all dialects.
type Rules struct {
	// ExplicitModelWins: a model change takes precedence over the model that an answer names, wherever they stand.
	// Otherwise the later of the two counts.
	ExplicitModelWins bool
	// ContextEdits: entries of KindContextEdit have an effect.
	ContextEdits bool
	// KeepSystem: system messages among the entries that a compaction keeps stay in the context.
	KeepSystem bool
	// SingleModel: the agent has one model, not one for each role. Every change or answer that names a model sets it, even without a
	// provider.
	SingleModel bool
	// ModelByEntry: an entry before an answer names its model; the answer does not.
	ModelByEntry bool
	// Heals: the agent removes dangling calls and results itself. StripsCalls: it removes only dangling calls. DropsFailed: it
	// leaves out turns that ended in an error or were aborted.
	Heals, StripsCalls, DropsFailed bool
	// Resets: entries of KindReset have an effect.
	Resets bool
	// ToolSelections: contexts say which tools are selected.
	ToolSelections bool
}

// ContextOptions change a context.
type ContextOptions struct {
	// DropFailed leaves out turns that ended in an error or were aborted, and the results of their tool calls.
	DropFailed bool
	// StripDangling removes tool calls without a result and results without a call, so that a provider accepts the messages.
	// A result belongs to the last call before it that has its id.
	StripDangling bool
	// LLM gives the messages in the form that goes to a provider.
	LLM bool
	// FallBack uses the last entry where the leaf is unknown, as the agents' own programs do. Otherwise an unknown leaf is an error.
	FallBack bool
	// Resume are messages by which the agent tells the model that the session resumes. They follow the system messages
	// that begin the context, and come from no entry.
	Resume []Raw
	// Restore, if set, gives the record to use instead of record, the one in the log, which may be only a part of it.
	Restore func(e Entry, record []byte) []byte
	// Resolve, if set, is applied to each message first: it replaces references to blobs by their content.
	Resolve func(message []byte) ([]byte, error)
}

// ModelRef is a model as a context names it.
type ModelRef struct {
	Role            string // "default", or what the agent uses another model for
	Provider, Model string
	Name            string // "provider/model"; "" where the path does not name both
	// JSON is the model as the agent's own contexts spell it.
	JSON Raw
}

// Context is what the model would see at a leaf. Messages are read on demand.
type Context struct {
	ThinkingLevel string
	// Models are in the order in which their roles first occur on the path.
	Models []ModelRef
	// TTSRRules has no duplicates.
	TTSRRules []string
	Mode      string
	ModeData  Raw
	// ServiceTier is the tier as the agent's context names it; nil for none.
	ServiceTier Raw
	// SelectedTools are the tools of the last selection; ToolsSelected is false if the path has none.
	SelectedTools []string
	ToolsSelected bool

	thinking, mode Raw // raw values, whatever their type; nil if the change has none
	configured     Raw // see ThinkingLevelChange.Configured

	tree    *Tree
	path    []int32 // set where a Replayer makes the messages
	items   []int32 // the entries that contribute
	edits   map[int32]ContextEdit
	options ContextOptions
	strip   *stripping

	detached bool
	problems []Problem // what Problems returned last
}

// ContextMessage is one message of a context and the entry that it comes from, or the zero Entry.
type ContextMessage struct {
	Entry Entry
	JSON  []byte
	// Made: the agent's program adds the message when it resumes the session. A conversion leaves it out.
	Made bool
}

// DefaultModel returns the model of the role "default"; ok is false if the path names none.
func (c *Context) DefaultModel() (ModelRef, bool) {
	for _, m := range c.Models {
		if m.Role == "default" {
			return m, m.Name != ""
		}
	}
	return ModelRef{}, false
}

// Detach makes the context independent of its tree: entries may be added to the tree while messages are read. Problems depend on the
// whole tree, so call it before Detach if they are needed afterwards.
func (c *Context) Detach() {
	c.detached = true
	t := c.tree
	c.tree = &Tree{
		name: t.name, header: t.header, nodes: t.nodes[:len(t.nodes):len(t.nodes)],
		links: t.links[:len(t.links):len(t.links)], types: t.types[:len(t.types):len(t.types)],
		leaf: t.leaf, orphans: maps.Clone(t.orphans), natives: maps.Clone(t.natives), keptByIndex: maps.Clone(t.keptByIndex),
		pending: maps.Clone(t.pending), foreign: maps.Clone(t.foreign), others: t.others, whole: maps.Clone(t.whole), pieces: t.pieces[:len(t.pieces):len(t.pieces)], cyclic: t.cyclic, source: t.source, codec: t.codec,
	}
}

// Problems lists what the log has but the agent's program does not show the model. In some formats it costs as much as reading the
// messages. After Detach it returns what the last call before Detach returned, nil if there was none.
func (c *Context) Problems() []Problem {
	o, ok := c.tree.codec.EntryCodec.(Omitter)
	if !ok {
		return nil
	}
	if !c.detached {
		c.problems = o.Omits(Path{tree: c.tree, index: c.path})
		for i := range c.problems {
			if c.problems[i].File == "" {
				c.problems[i].File = c.tree.name
			}
		}
	}
	return slices.Clone(c.problems)
}

// Entries returns the entries that the messages come from, in order. Some of them may give no message.
func (c *Context) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		if c.replayer() != nil {
			last := -1
			for m := range c.read() {
				if m.Entry.tree != nil && m.Entry.Index != last && !yield(m.Entry) {
					return
				}
				last = m.Entry.Index
			}
		}
		for _, i := range c.items {
			if !yield(c.tree.At(int(i))) {
				return
			}
		}
	}
}

// BuildContext computes what the model would see at leaf. The empty leaf is the place before the first entry, where the
// context is empty.
//
// The state (thinking level, models, mode, injected rules) comes from the whole path, including the part that a compaction
// hides. Where the path has a compaction, the messages are the summary of the last one, the entries that it keeps (from its
// first kept entry on; none if that is not on the path), and what follows it.
func BuildContext(t *Tree, leaf EntryID, opt ContextOptions) (*Context, error) {
	c := &Context{
		ThinkingLevel: "off", thinking: Raw(`"off"`), Mode: "none", mode: Raw(`"none"`), TTSRRules: []string{},
		tree: t, options: opt,
	}
	if t.codec.EntryCodec != nil {
		rules := t.Rules()
		c.options.StripDangling = opt.StripDangling || rules.Heals
		c.options.DropFailed = opt.DropFailed || rules.DropsFailed
	}
	if leaf == "" {
		return c, nil
	}
	at := t.ids.find(t.nodes, leaf)
	if at < 0 {
		if !opt.FallBack {
			return nil, unknownEntry(leaf)
		}
		if at = t.lastMover(len(t.nodes) - 1); at < 0 {
			return c, nil
		}
	}
	path := t.walk(at)
	if err := c.state(path); err != nil {
		return nil, err
	}
	if err := c.choose(path); err != nil {
		return nil, err
	}
	if c.options.DropFailed || c.options.StripDangling || t.Rules().StripsCalls {
		if err := c.findDangling(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// choose picks the entries that the model sees.
func (c *Context) choose(path []int32) error {
	t := c.tree
	if c.replayer() != nil {
		c.path = path
		return nil
	}
	visible, compacted, err := t.visible(path)
	if err != nil {
		return err
	}
	c.items = make([]int32, 0, len(visible)) // nearly all entries are messages
	for k, i := range visible {
		switch t.links[i].kind {
		case KindMessage, KindCustomMessage, KindBranchSummary:
			c.items = append(c.items, i)
		case KindCompaction:
			if k == 0 && compacted {
				c.items = append(c.items, i)
			}
		case KindContextEdit:
			if err := c.addEdit(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// replayer returns the tree's Replayer, nil if it has none.
func (c *Context) replayer() Replayer {
	r, _ := c.tree.codec.EntryCodec.(Replayer)
	return r
}

func (c *Context) addEdit(i int32) error {
	t := c.tree
	if !t.Rules().ContextEdits {
		return nil
	}
	body, err := t.At(int(i)).Body()
	if err != nil {
		return err
	}
	edit, ok := body.(ContextEdit)
	if !ok {
		return nil // the edit does not say what to change
	}
	if target := t.ids.find(t.nodes, edit.Target); target >= 0 {
		put(&c.edits, target, edit)
	}
	return nil
}

// Messages reads the messages, in order.
func (c *Context) Messages() iter.Seq2[ContextMessage, error] { return c.messages }

func (c *Context) messages(yield func(ContextMessage, error) bool) {
	resume := c.options.Resume
	resumed := func() bool {
		for _, m := range resume {
			if !yield(ContextMessage{JSON: m}, nil) {
				return false
			}
		}
		resume = nil
		return true
	}
	n := -1
	for m, err := range c.read() {
		if err != nil {
			yield(ContextMessage{}, err)
			return
		}
		n++
		if m.JSON, err = c.finish(m.JSON, n); err != nil {
			yield(ContextMessage{}, fmt.Errorf("%s: entry %s: %w", c.tree.name, m.Entry.ID, err))
			return
		}
		if m.JSON == nil {
			continue
		}
		if resume != nil && c.tree.codec.Role(m.JSON) != RoleSystem && !resumed() || !yield(m, nil) {
			return
		}
	}
	resumed()
}

// read returns the messages before the options change them. It ends at the first error.
func (c *Context) read() iter.Seq2[ContextMessage, error] {
	if r := c.replayer(); r != nil {
		return r.Replay(Path{c.tree, c.path, c.options.Restore})
	}
	return func(yield func(ContextMessage, error) bool) {
		for _, i := range c.items {
			e := c.tree.At(int(i))
			list, err := c.edited(e)
			if err != nil {
				yield(ContextMessage{}, err)
				return
			}
			for _, m := range list {
				if !yield(ContextMessage{Entry: e, JSON: m}, nil) {
					return
				}
			}
		}
	}
}

// edited returns the messages of one entry after the context edits.
func (c *Context) edited(e Entry) ([][]byte, error) {
	edit, edited := c.edits[int32(e.Index)]
	if edited && edit.Content == nil {
		return nil, nil
	}
	record, whole := e.Whole()
	if !whole {
		var err error
		if record, err = e.Raw(); err != nil {
			return nil, err
		}
		if c.options.Restore != nil {
			record = c.options.Restore(e, record)
		}
	}
	codec := c.tree.codec
	list, err := codec.Messages(e, record)
	if err != nil || !edited {
		return list, err
	}
	for i := range list {
		if list[i], err = codec.Edit(list[i], edit.Content); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// finish applies the options to one message, the nth; nil leaves it out.
func (c *Context) finish(m []byte, n int) (_ []byte, err error) {
	codec := c.tree.codec
	if c.strip != nil {
		if m, err = c.strip.apply(codec.MessageCodec, m, n); m == nil || err != nil {
			return nil, err
		}
	}
	if c.options.Resolve != nil {
		if m, err = c.options.Resolve(m); err != nil {
			return nil, err
		}
	}
	if c.options.LLM {
		return codec.LLM(m)
	}
	return m, nil
}
