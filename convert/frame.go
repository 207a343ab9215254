package convert

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// keep adds a record to a passage.
func (c *crossing) keep(p *passage, n dialect.NewEntry, record []byte) {
	p.records = append(p.records, record)
	if c.framer != nil {
		// The record mostly holds the message as it is. Then the message is not kept a second time.
		if m, ok := n.Body.(session.Message); ok {
			if i := bytes.Index(record, m.JSON); i >= 0 {
				m.JSON = record[i : i+len(m.JSON)]
				n.Body = m
			}
		}
		p.made = append(p.made, dialect.NewRecord{NewEntry: n, Record: record})
	}
}

// frame gives the new records the form in which the agent writes them: with others around them, or numbered.
func (c *crossing) frame() error {
	var batch []dialect.NewRecord
	var old []*passage
	for _, p := range c.passages {
		batch = append(batch, p.made...)
		if p.restored {
			old = append(old, p)
		}
	}
	if c.framer == nil || len(batch) == 0 {
		return nil
	}
	records, err := c.headRecords()
	if err != nil {
		return err
	}
	for _, f := range flatten(old) {
		records = append(records, f.record)
	}
	framed, err := c.framer.Frame(logtree.FromRecords(c.to.Dialect, "", logtree.Born(c.newOf), records).Tree, batch)
	if err != nil {
		return err
	}
	for _, p := range c.passages {
		if n := len(p.made); n > 0 {
			p.records, p.made = nil, nil
			for _, f := range framed[:n] {
				p.records = append(p.records, f.Records()...)
			}
			framed = framed[n:]
		}
	}
	return nil
}
