package convert

import (
	"bytes"
	"iter"

	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// framing is a record that waits for its frame: the entry without its message, and the positions of the record and the message in the pile.
type framing struct {
	dialect.NewEntry
	record, message session.Span
}

// keep adds a record to a passage.
func (c *crossing) keep(p *passage, n dialect.NewEntry, record []byte) {
	at := c.pile.Put(record)
	p.records = append(p.records, at)
	if c.framer == nil {
		return
	}
	f := framing{NewEntry: n, record: at}
	if m, ok := n.Body.(session.Message); ok {
		// The record usually contains the message as it is. Then the message is not kept a second time.
		if i := bytes.Index(record, m.JSON); i >= 0 {
			f.message = session.Span{Offset: at.Offset + int64(i), Length: int64(len(m.JSON))}
		} else {
			f.message = c.pile.Put(m.JSON)
		}
		m.JSON = nil
		f.Body = m
	}
	p.made = append(p.made, f)
}

// batch yields the records that wait for their frames. failed is set to the error that ended the iteration early.
func (c *crossing) batch(failed *error) iter.Seq[dialect.NewRecord] {
	return func(yield func(dialect.NewRecord) bool) {
		for _, p := range c.passages {
			for _, f := range p.made {
				list, err := c.pile.All([]session.Span{f.record, f.message})
				if err != nil {
					*failed = err
					return
				}
				n := dialect.NewRecord{NewEntry: f.NewEntry, Record: list[0]}
				if m, ok := n.Body.(session.Message); ok {
					m.JSON = list[1]
					n.Body = m
				}
				if !yield(n) {
					return
				}
			}
		}
	}
}

// frame changes the new records to the form in which the agent writes them: with additional records around them, or numbered.
func (c *crossing) frame() (err error) {
	var old, fresh []*passage
	for _, p := range c.passages {
		if len(p.made) > 0 {
			fresh = append(fresh, p)
		}
		if p.restored {
			old = append(old, p)
		}
	}
	if c.framer == nil || len(fresh) == 0 {
		return nil
	}
	var log pile.Sheet
	defer log.Close()
	tree, err := c.readAs(&log, old)
	if err != nil {
		return err
	}
	n := 0 // records of the first passage that are framed
	for f, ferr := range c.framer.Frame(tree, c.batch(&err)) {
		if ferr != nil {
			return ferr
		}
		p := fresh[0]
		if n == 0 {
			p.records = nil
		}
		for _, r := range f.Records() {
			p.records = append(p.records, c.pile.Put(r))
		}
		if n++; n == len(p.made) {
			p.made, fresh, n = nil, fresh[1:], 0
		}
	}
	return err
}

// readAs reads some passages as the new session. The records are written to log.
func (c *crossing) readAs(log *pile.Sheet, passages []*passage) (*session.Tree, error) {
	records, err := c.headRecords()
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		log.Add(r)
	}
	if err := c.copyTo(log, passages); err != nil {
		return nil, err
	}
	return log.Read(c.to.Dialect, "", c.newOf)
}
