package index

import "github.com/treeline-dev/treeline/session"

// Resume is what reading needs to go on where it ended, when the log has grown since. The zero value stands for a log that
// must be read anew.
type Resume struct {
	// From is where the last chunk begins: what follows is read again, because the chunk grows.
	From int64
	// Head is a hash of the log's header.
	Head uint64
	// The rest is what the entries before From add to a summary, and what they mean to those behind them. Models counts the
	// first of the summary's models; Name and Short are what the session was last called by an entry and by a compaction,
	// Prompt is what was asked first.
	Messages, Models    int
	Tokens              Tokens
	Cost                float64
	Has                 Has
	Name, Short, Prompt string
	Before              session.Before
}

// Resume gives what SetResume was given, and the zero value where it was given nothing. It is decoded at each call: all logs
// of a catalogue are read every time, and nearly none of them has grown.
func (l *Log) Resume() (v Resume) {
	if l.resume == "" {
		return v
	}
	r := reader{data: []byte(l.resume), text: l.resume}
	r.resume(&v, &l.Summary)
	if r.bad || len(r.data) > 0 {
		return Resume{}
	}
	return v
}

// SetResume keeps what reading on needs. It comes after the summary, of which it is a part where they say the same.
func (l *Log) SetResume(v Resume) {
	l.resume = ""
	if v.From > 0 {
		var w writer
		w.resume(&v, &l.Summary)
		l.resume = string(w.data)
	}
}

// resume writes what reading on needs, in the order of reader.resume.
func (w *writer) resume(r *Resume, s *Summary) {
	w.varint(r.From)
	w.uvarint(r.Head)
	for _, n := range []int{r.Messages, r.Models, r.Before.Entries, r.Before.Problems} {
		w.varint(int64(n))
	}
	w.usage(r.Tokens, r.Cost)
	w.uvarint(uint64(r.Has))
	w.like(r.Name, s.Title)
	w.like(r.Short, s.Title)
	w.like(r.Prompt, s.Prompt)
	w.uvarint(uint64(len(r.Before.Ends)))
	for _, end := range r.Before.Ends {
		w.ids(end)
	}
	w.ids(r.Before.Labels)
	w.ids(r.Before.Missing)
}

// like writes a string that is mostly empty or the other one, which the reader has already.
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

// resume reads what writer.resume wrote, when the summary has been read.
func (r *reader) resume(v *Resume, s *Summary) {
	*v = Resume{From: r.varint(), Head: r.uvarint(), Messages: int(r.varint()), Models: int(r.varint())}
	v.Before.Entries, v.Before.Problems = int(r.varint()), int(r.varint())
	v.Tokens, v.Cost = r.usage()
	v.Has = Has(r.uvarint())
	v.Name, v.Short, v.Prompt = r.like(s.Title), r.like(s.Title), r.like(s.Prompt)
	if n := r.count(1); n > 0 {
		v.Before.Ends = make([][]session.EntryID, n)
		for i := range v.Before.Ends {
			v.Before.Ends[i] = r.ids()
		}
	}
	v.Before.Labels, v.Before.Missing = r.ids(), r.ids()
	// Whoever reads on cuts the summary's models to this length.
	if v.Models < 0 || v.Models > len(s.Models) {
		r.fail()
	}
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
