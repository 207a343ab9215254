package index

import "github.com/treeline-dev/treeline/session"

// Resume is what is needed to continue reading a log that has grown. The zero value means that the log must be read from the
// start.
type Resume struct {
	// From is where the last chunk begins. It is read again, because it grows.
	From int64
	// Head is a hash of the log's header.
	Head uint64
	// The rest is the result of the entries before From. Models is how many of the summary's models they name, Spells how many of its
	// spells they make; Last is the spell after these as it was then. Name and Short are the last names from an entry and from a
	// compaction, Prompt is the first prompt.
	Messages, Models    int
	Tokens              Tokens
	Cost                float64
	Spells              int
	Last                Spell
	Has                 Has
	Name, Short, Prompt string
	// Recent are answers whose usage may be reported again, Totals the sums of the session so far; see session.Spender. Provider and Model
	// are those of the last model change.
	Recent, Totals  []Spent
	Provider, Model string
	Before          session.Before
}

// Spent is the reported usage of an answer, or of the session so far.
type Spent struct {
	Of     uint64 // hash of the answer's name, never 0
	Tokens Tokens
	Cost   float64
}

// Resume returns the argument of SetResume, or the zero value. It decodes at each call, since almost no log of a catalogue
// has grown.
func (l *Log) Resume() (v Resume) {
	if l.resume == "" {
		return v
	}
	r := reader{text: l.resume}
	r.resume(&v, &l.Summary)
	if r.bad || r.left() > 0 {
		return Resume{}
	}
	return v
}

// SetResume records how to continue. It must be called after the summary is set, since strings that are equal to the
// summary's are not repeated.
func (l *Log) SetResume(v Resume) {
	l.resume = ""
	if v.From > 0 {
		var w writer
		w.resume(&v, &l.Summary)
		l.resume = string(w.data)
	}
}

// resume writes a Resume in the order of reader.resume.
func (w *writer) resume(r *Resume, s *Summary) {
	w.varint(r.From)
	w.uvarint(r.Head)
	for _, n := range []int{r.Messages, r.Models, r.Before.Entries, r.Before.Problems} {
		w.varint(int64(n))
	}
	w.usage(r.Tokens, r.Cost)
	w.varint(int64(r.Spells))
	w.spell(&r.Last, &Spell{})
	w.uvarint(uint64(r.Has))
	w.like(r.Name, s.Title)
	w.like(r.Short, s.Title)
	w.like(r.Prompt, s.Prompt)
	for _, list := range [][]Spent{r.Recent, r.Totals} {
		w.uvarint(uint64(len(list)))
		for _, s := range list {
			w.uvarint(s.Of)
			w.usage(s.Tokens, s.Cost)
		}
	}
	w.string(r.Provider)
	w.string(r.Model)
	w.uvarint(uint64(len(r.Before.Ends)))
	for _, end := range r.Before.Ends {
		w.ids(end)
	}
	w.string(string(r.Before.Last))
	w.uvarint(uint64(len(r.Before.Messages)))
	for _, id := range r.Before.Messages {
		w.string(id)
	}
	w.ids(r.Before.Labels)
	w.ids(r.Before.Missing)
}

// like writes a string that is usually empty or equal to another, which the reader has already.
func (w *writer) like(s, other string) {
	switch s {
	case "":
		w.uvarint(0)
	case other:
		w.uvarint(1)
	default:
		w.uvarint(2)
		w.string(s)
	}
}

func (w *writer) ids(list []session.EntryID) {
	w.uvarint(uint64(len(list)))
	for _, id := range list {
		w.string(string(id))
	}
}

// resume reads what writer.resume wrote. The summary must have been read.
func (r *reader) resume(v *Resume, s *Summary) {
	*v = Resume{From: r.varint(), Head: r.uvarint(), Messages: int(r.varint()), Models: int(r.varint())}
	v.Before.Entries, v.Before.Problems = int(r.varint()), int(r.varint())
	v.Tokens, v.Cost = r.usage()
	v.Spells = int(r.varint())
	r.spell(&v.Last)
	v.Has = Has(r.uvarint())
	v.Name, v.Short, v.Prompt = r.like(s.Title), r.like(s.Title), r.like(s.Prompt)
	v.Recent, v.Totals = r.spent(), r.spent()
	v.Provider, v.Model = r.string(), r.string()
	if n := r.count(1); n > 0 {
		v.Before.Ends = make([][]session.EntryID, n)
		for i := range v.Before.Ends {
			v.Before.Ends[i] = r.ids()
		}
	}
	v.Before.Last = session.EntryID(r.string())
	for range r.count(1) {
		v.Before.Messages = append(v.Before.Messages, r.string())
	}
	v.Before.Labels, v.Before.Missing = r.ids(), r.ids()
	// The caller cuts the summary's models to this length.
	if v.Models < 0 || v.Models > len(s.Models) {
		r.fail()
	}
}

func (r *reader) spent() (list []Spent) {
	for range r.count(1) {
		s := Spent{Of: r.uvarint()}
		s.Tokens, s.Cost = r.usage()
		list = append(list, s)
	}
	return list
}

func (r *reader) like(other string) string {
	switch r.uvarint() {
	case 0:
		return ""
	case 1:
		return other
	}
	return r.string()
}

func (r *reader) ids() []session.EntryID {
	n := r.count(1)
	if n == 0 {
		return nil
	}
	list := make([]session.EntryID, n)
	for i := range list {
		list[i] = session.EntryID(r.string())
	}
	return list
}
