package push

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// markVersion is the version of marks that this package writes. It does not read newer ones.
const markVersion = 1

// span is the range of bytes From up to To of a copy.
type span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// mark is the state of a copy as it is stored with the copy in the archive; see backend.Marked.
type mark struct {
	V int `json:"v"`
	// Of is the number of bytes of the original that the copy holds, Gen the original's generation in the list, and Sum the hash of those
	// bytes.
	Of  int64  `json:"of"`
	Gen string `json:"gen"`
	Sum string `json:"sum"`
	// At is the size of the copy when the mark was written, or -1 for a fork. CGen is the generation of the copy, if it was known then.
	At   int64  `json:"at"`
	CGen string `json:"cgen,omitempty"`
	// Redacted is the lowest version of the rules by which a record of the copy was redacted; 0 means an exact copy.
	Redacted int `json:"redacted,omitempty"`
	// Clean means that redaction found nothing in a redacted copy, so its records are those of the original. Older marks do not say so.
	Clean bool `json:"clean,omitempty"`
	// Loose means that a redacted copy ends with the original's unterminated line, which does not count in Of.
	Loose bool `json:"loose,omitempty"`
	// Elsewhere are the spans of the copy that do not come from the original.
	Elsewhere []span `json:"elsewhere,omitempty"`
	// Fork is the name of the log that the copy is a fork of.
	Fork string `json:"fork,omitempty"`
	Time string `json:"time"`
}

// readMark reads a mark. ok is false if there is none, if this version does not understand it, or if its sizes are impossible.
func readMark(text string) (m mark, ok bool) {
	if text == "" || json.Unmarshal([]byte(text), &m) != nil || m.V < 1 || m.V > markVersion || m.Of < 0 || m.At < -1 {
		return mark{}, false
	}
	end := int64(0)
	for _, s := range m.Elsewhere {
		if s.From < end || s.To < s.From || s.To > m.At {
			return mark{}, false
		}
		end = s.To
	}
	return m, true
}

// marshalMark returns the text of a mark.
func marshalMark(m *mark) (string, error) {
	text, err := json.Marshal(m)
	return string(text), err
}

// stamp is the state of a log in a list; it is enough to detect changes.
type stamp struct {
	Gen     string `json:"gen"`
	Size    int64  `json:"size"`
	Changed int64  `json:"changed,omitempty"`
}

func stampOf(l backend.Log) stamp { return stamp{l.Generation, l.Size, l.Changed} }

// watermark says how far the copy of one log has come.
type watermark struct {
	Name string `json:"name"`
	mark
	// Seen is the state of the original in the list. Open, Size and Nanos are its generation, size and time when it was opened.
	Seen  stamp  `json:"seen"`
	Open  string `json:"open,omitempty"`
	Size  int64  `json:"size,omitempty"`
	Nanos int64  `json:"nanos,omitempty"`
	// Head is a hash of the first bytes. State is the state of the hash Sum.
	Head  string `json:"head,omitempty"`
	State []byte `json:"state,omitempty"`
	// Taken is the number of spans of Elsewhere that the original has, too.
	Taken int `json:"taken,omitempty"`
	// Skip are spans of the original after Of that were pulled from the copy.
	Skip []span `json:"skip,omitempty"`
	// ForkedAt and ForkedGen are size and generation of the copy when it was pulled as a fork.
	ForkedAt  int64  `json:"forkedAt,omitempty"`
	ForkedGen string `json:"forkedGen,omitempty"`
	// CWD is the working directory of the session.
	CWD *string `json:"cwd,omitempty"`
	// Gone means that the log was removed on the other side, or that its tombstone was passed on. If it is here again, it is copied again.
	Gone bool `json:"gone,omitempty"`
}

// settled reports whether neither side has changed since the watermark.
func (w *watermark) settled(here stamp, there backend.Log) bool {
	return w != nil && !w.Gone && w.Seen == here && w.copied(there)
}

// copied reports whether the copy is as the watermark left it.
func (w *watermark) copied(there backend.Log) bool {
	return w.At == there.Size && w.CGen == there.Generation
}

// fresh returns the spans of the copy that come from elsewhere and are not here.
func (w *watermark) fresh(there backend.Log) (list []span) {
	list = append(list, w.Elsewhere[min(w.Taken, len(w.Elsewhere)):]...)
	if there.Size > w.At && there.Generation == w.CGen {
		list = append(list, span{w.At, there.Size})
	}
	return list
}

// took notes that the first n bytes of the spans of fresh are here.
func (w *watermark) took(n int64) {
	for ; n > 0 && w.Taken < len(w.Elsewhere); w.Taken++ {
		s := w.Elsewhere[w.Taken]
		if n < s.To-s.From {
			rest := append([]span{{s.From, s.From + n}, {s.From + n, s.To}}, w.Elsewhere[w.Taken+1:]...)
			w.Elsewhere = append(slices.Clip(w.Elsewhere[:w.Taken]), rest...)
		}
		n -= min(n, s.To-s.From)
	}
	w.At += n
}

// headMost is the number of bytes that Head covers: title slots and headers, which are edited in place.
const headMost = 4 << 10

// digest is a hash that can continue where a watermark ended.
type digest struct {
	hash.Hash
	head []byte
}

func newDigest() *digest { return &digest{Hash: sha256.New()} }

// resume returns the hash of a watermark; ok is false if it cannot be continued.
func (w *watermark) resume(head []byte) (*digest, bool) {
	d := newDigest()
	if len(w.State) == 0 || d.Hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(w.State) != nil {
		return nil, false
	}
	d.head = head
	return d, true
}

// Write implements io.Writer.
func (d *digest) Write(p []byte) (int, error) {
	if n := headMost - len(d.head); n > 0 {
		d.head = append(d.head, p[:min(n, len(p))]...)
	}
	return d.Hash.Write(p)
}

func (d *digest) sum() string { return hex.EncodeToString(d.Hash.Sum(nil)) }

// note stores the state of the hash in a watermark.
func (d *digest) note(w *watermark) {
	w.Sum, w.Head = d.sum(), headSum(d.head)
	w.State, _ = d.Hash.(encoding.BinaryMarshaler).MarshalBinary() // it cannot fail
}

func headSum(head []byte) string {
	sum := sha256.Sum256(head)
	return hex.EncodeToString(sum[:8])
}

// kept is a watermark in memory. Most logs are settled, so the whole line is decoded only when it is needed.
type kept struct {
	w    *watermark
	line []byte // nil if w is complete; otherwise w has only the members for settled
}

// briefKeys are the members that decide whether a log is settled; seenKeys are those of its stamp.
var (
	briefKeys = []string{"name", "v", "at", "cgen", "redacted", "gone", "seen"}
	seenKeys  = []string{"gen", "size", "changed"}
)

// briefly reads these members of a line; ok is false if the line is not a watermark.
func briefly(line []byte) (k kept, ok bool) {
	if !rawjson.Valid(line) || !rawjson.IsObject(line) {
		return kept{}, false
	}
	var found [7][]byte
	rawjson.Pick(line, briefKeys, found[:])
	var seen [3][]byte
	if found[6] != nil {
		rawjson.Pick(found[6], seenKeys, seen[:])
	}
	number := func(value []byte) (n int64) {
		if value != nil {
			var err error
			n, err = strconv.ParseInt(string(value), 10, 64)
			ok = ok && err == nil
		}
		return n
	}
	text := func(value []byte) (s string) {
		if value != nil {
			var is bool
			s, is = rawjson.Unquote(value)
			ok = ok && is
		}
		return s
	}
	ok = true
	w := &watermark{Name: text(found[0]), Gone: string(found[5]) == "true"}
	w.mark = mark{V: int(number(found[1])), At: number(found[2]), CGen: text(found[3]), Redacted: int(number(found[4]))}
	w.Seen = stamp{text(seen[0]), number(seen[1]), number(seen[2])}
	return kept{w, line}, ok && w.Name != "" && w.V == markVersion
}

// whole decodes the rest. It returns nil if the line cannot be read.
func (k *kept) whole() *watermark {
	if k.line != nil {
		w := &watermark{}
		if json.Unmarshal(k.line, w) != nil {
			w = nil
		}
		k.w, k.line = w, nil
	}
	return k.w
}

// watermarks are the watermarks of one archive. They are safe for concurrent use.
type watermarks struct {
	mu    sync.Mutex
	path  string // "" keeps them in memory
	known map[string]*kept
	file  durable.File
	lines int
	err   error // of the file; the marks of the copies replace what is missing
}

// openWatermarks reads the watermarks of an archive. It ignores a line that cannot be read, since the copy has a mark.
func openWatermarks(state, identity string) (*watermarks, error) {
	s := &watermarks{known: map[string]*kept{}}
	if state == "" || identity == "" {
		return s, nil
	}
	sum := sha256.Sum256([]byte(identity))
	s.path = filepath.Join(state, "push", hex.EncodeToString(sum[:8])+".jsonl")
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' {
			break
		}
		if k, ok := briefly(line); ok {
			s.known[k.w.Name] = &k
		}
		s.lines++
	}
	return s, err
}

// get returns the watermark of a log, or nil.
func (s *watermarks) get(name string) *watermark {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[name]
	if k == nil {
		return nil
	}
	return k.whole()
}

// brief is like get, for a caller that only needs to know whether the log is settled and how it is redacted: other fields may be missing.
func (s *watermarks) brief(name string) *watermark {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[name]
	if k == nil {
		return nil
	}
	return k.w
}

// all returns the watermarks in no particular order.
func (s *watermarks) all() []*watermark {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*watermark, 0, len(s.known))
	for _, k := range s.known {
		if w := k.whole(); w != nil {
			list = append(list, w)
		}
	}
	return list
}

// put stores a watermark. Its line need not survive a crash, because the mark of the copy does.
func (s *watermarks) put(w *watermark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[w.Name] = &kept{w: w}
	if s.path == "" || s.err != nil {
		return
	}
	line, err := json.Marshal(w)
	if err == nil && s.file == nil {
		if err = os.MkdirAll(filepath.Dir(s.path), 0o700); err == nil {
			s.file, err = durable.OpenOwn(durable.OS{}, s.path, os.O_APPEND|os.O_RDWR)
		}
		if err == nil {
			err = s.endLine()
		}
	}
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
		s.lines++
	}
	s.err = err
}

// endLine terminates a line that a crash cut off.
func (s *watermarks) endLine() error {
	info, err := s.file.Stat()
	if err != nil || info.Size == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := s.file.ReadAt(last, info.Size-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = s.file.Write([]byte{'\n'})
	return err
}

// close closes the file, and rewrites it if most of its lines are out of date.
func (s *watermarks) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.err = errors.Join(s.err, s.file.Close())
		s.file = nil
	}
	if s.err != nil || s.path == "" || s.lines < 100 || s.lines < 3*len(s.known) {
		return s.err
	}
	var all bytes.Buffer
	for _, k := range s.known {
		if k.line != nil {
			all.Write(k.line)
			continue
		}
		if k.w == nil {
			continue
		}
		line, err := json.Marshal(k.w)
		if err != nil {
			return err
		}
		all.Write(append(line, '\n'))
	}
	s.lines = len(s.known)
	_, err := durable.Replace(durable.OS{}, s.path, 0o600, &all)
	return err
}
