package session

import "slices"

// stripping is what DropFailed and StripDangling found in a first pass over a context.
type stripping struct {
	dropFailed bool
	dangling   bool
	calls      map[string]bool // ids of the calls of turns that stay
	results    map[string]bool // ids that a result answers
	failed     map[string]bool // ids of the calls of failed turns
}

// findDangling reads all messages once to learn which calls are answered.
func (c *Context) findDangling() error {
	s := &stripping{
		dropFailed: c.options.DropFailed, dangling: c.options.StripDangling,
		calls: map[string]bool{}, results: map[string]bool{}, failed: map[string]bool{},
	}
	codec := c.tree.codec
	for k := range c.items {
		list, err := c.read(c.tree.At(int(c.items[k].node)))
		if err != nil {
			return err
		}
		for _, m := range list {
			calls := s.calls
			if s.dropFailed && codec.Failed(m) {
				calls = s.failed
			}
			for _, id := range codec.ToolCalls(m) {
				calls[id] = true
			}
			for _, id := range toolResults(codec, m) {
				s.results[id] = true
			}
		}
	}
	c.strip = s
	return nil
}

// apply gives the message without what does not stay; nil where nothing of it does.
func (s *stripping) apply(codec MessageCodec, m []byte) ([]byte, error) {
	if s.dropFailed && codec.Failed(m) {
		return nil, nil
	}
	if ids := toolResults(codec, m); len(ids) > 0 {
		gone := func(id string) bool { return !s.calls[id] && (s.dangling || s.failed[id]) }
		switch {
		case !slices.ContainsFunc(ids, gone):
			return m, nil
		case len(ids) == 1 && codec.Role(m) == RoleTool:
			return nil, nil
		}
		return codec.Strip(m, gone)
	}
	if !s.dangling {
		return m, nil
	}
	for _, id := range codec.ToolCalls(m) {
		if !s.results[id] {
			return codec.Strip(m, func(id string) bool { return !s.results[id] })
		}
	}
	return m, nil
}

// toolResults gives the ids of the calls that a message answers. A codec of an agent that puts several results into one
// message has a method for it; its Strip then removes results too.
func toolResults(codec MessageCodec, m []byte) []string {
	if c, ok := codec.(interface{ ToolResults(message []byte) []string }); ok {
		return c.ToolResults(m)
	}
	if id := codec.ToolResult(m); id != "" {
		return []string{id}
	}
	return nil
}
