package session

// Snapshots is a Codec of logs in which some entries hold all that was sent to the model. There the context is what the
// last of them on the path says, and what came back; nothing is put together from entries before it.
type Snapshots interface {
	// IsSnapshot says whether entries of a type are such.
	IsSnapshot(typ string) bool
	// Follows says whether an entry behind a snapshot is seen with it.
	Follows(snapshot, entry []byte) bool
}

// chooseSnapshot picks the last snapshot and what follows it. Where there is none yet, what the user said is all there is.
func (c *Context) chooseSnapshot(s Snapshots, path []int32) error {
	t := c.tree
	last := len(path) - 1
	for last >= 0 && !s.IsSnapshot(t.types[t.links[path[last]].typ]) {
		last--
	}
	if last < 0 {
		for _, i := range path {
			if t.links[i].kind == KindMessage && t.links[i].role == RoleUser {
				c.items = append(c.items, item{node: i})
			}
		}
		return nil
	}
	c.items = append(c.items, item{node: path[last]})
	var snapshot []byte
	for _, i := range path[last+1:] {
		if t.links[i].kind != KindMessage {
			continue
		}
		var err error
		if snapshot == nil {
			if snapshot, err = t.raw(int(path[last])); err != nil {
				return err
			}
		}
		raw, err := t.raw(int(i))
		if err != nil {
			return err
		}
		if s.Follows(snapshot, raw) {
			c.items = append(c.items, item{node: i})
		}
	}
	return nil
}
