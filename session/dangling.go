package session

import "slices"

// A result belongs to the last call before it that has its id. Ids alone do not identify a call: some servers number calls anew in
// each turn, and a session that was merged by hand may have an id twice. A result before its call belongs to no call, and a
// provider refuses it.

// stripping is what a first pass over a context found for DropFailed and StripDangling.
type stripping struct {
	dropFailed bool
	dangling   bool
	answered   map[callIn]bool // calls that have a result
	stray      map[callIn]bool // results to remove
}

// callIn is the id of a call, and the number of the message that makes the call or has its result. Messages are counted from 0.
type callIn struct {
	message int
	id      string
}

// findDangling reads all messages once to find the calls that have a result.
func (c *Context) findDangling() error {
	s := &stripping{
		dropFailed: c.options.DropFailed, dangling: c.options.StripDangling || c.tree.Rules().StripsCalls,
		answered: map[callIn]bool{}, stray: map[callIn]bool{},
	}
	codec := c.tree.codec.MessageCodec
	last := map[string]int{}    // id → the message of the last call with it
	failed := map[string]bool{} // id → whether that message is dropped
	n := 0
	for m, err := range c.read() {
		if err != nil {
			return err
		}
		goes := s.dropFailed && codec.Failed(m.JSON)
		for _, id := range codec.ToolCalls(m.JSON) {
			last[id], failed[id] = n, goes
		}
		for _, id := range codec.ToolResults(m.JSON) {
			at, asked := last[id]
			switch {
			case asked && !failed[id]:
				s.answered[callIn{at, id}] = true
			case asked || c.options.StripDangling:
				s.stray[callIn{n, id}] = true
			}
		}
		n++
	}
	c.strip = s
	return nil
}

// apply returns message n without the calls and results to remove; nil if nothing is left.
func (s *stripping) apply(codec MessageCodec, m []byte, n int) ([]byte, error) {
	if s.dropFailed && codec.Failed(m) {
		return nil, nil
	}
	if ids := codec.ToolResults(m); len(ids) > 0 {
		gone := func(id string) bool { return s.stray[callIn{n, id}] }
		switch {
		case !slices.ContainsFunc(ids, gone):
			return m, nil
		case len(ids) == 1 && codec.Role(m) == RoleTool:
			return nil, nil
		}
		return codec.Strip(m, gone)
	}
	open := func(id string) bool { return !s.answered[callIn{n, id}] }
	if s.dangling && slices.ContainsFunc(codec.ToolCalls(m), open) {
		return codec.Strip(m, open)
	}
	return m, nil
}
