package wire

import (
	"unicode/utf8"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// SearchResult is the answer to a search. matched is "words", "regexp", or "substring" where the words were found only
// inside other words. more says that the limit cut hits off.
type SearchResult struct {
	Matched string `json:"matched"`
	More    bool   `json:"more"`
	Hits    []Hit  `json:"hits"`
}

// Hit is an entry that was found. session is null for a record of a run, entry for a session's title or header. onPath is false
// on an abandoned branch. run, line, dialect, label and score are absent without a value.
type Hit struct {
	// Ref names the entry for the caller's next request: session#entry, or the id of a run.
	Ref     string           `json:"ref"`
	Session *session.ID      `json:"session"`
	Entry   *session.EntryID `json:"entry"`
	Run     string           `json:"run,omitempty"`
	Line    int              `json:"line,omitempty"`
	Path    string           `json:"path"`
	Dialect string           `json:"dialect,omitempty"`
	CWD     string           `json:"cwd"`
	Title   string           `json:"title"`
	Kind    string           `json:"kind"`
	Type    string           `json:"type"`
	Role    *string          `json:"role"`
	Time    *string          `json:"time"`
	Label   string           `json:"label,omitempty"`
	OnPath  bool             `json:"onPath"`
	// Field says which part of the entry the snippet is from.
	Field   string `json:"field"`
	Snippet string `json:"snippet"`
	// Marks are the matches in Snippet, [from, to), in code points.
	Marks [][2]int `json:"marks"`
	Score *float64 `json:"score,omitempty"`
}

// NewSearchResult returns the answer to a search for words or, if regexp is set, for a regular expression.
func NewSearchResult(res *find.Result, regexp bool) SearchResult {
	j := SearchResult{Matched: "words", More: res.More, Hits: make([]Hit, 0, len(res.Hits))}
	switch {
	case res.Substring:
		j.Matched = "substring"
	case regexp:
		j.Matched = "regexp"
	}
	for i := range res.Hits {
		j.Hits = append(j.Hits, NewHit(&res.Hits[i]))
	}
	return j
}

// NewHit returns one hit.
func NewHit(h *find.Hit) Hit {
	j := Hit{
		Ref: HitRef(h, false), Kind: h.Kind.String(), Type: h.Type, Role: optional(h.Role.String()), Time: utc(h.Time), Label: h.Label,
		OnPath: h.OnPath, Field: h.Field.String(), Snippet: h.Snippet, Marks: make([][2]int, 0, len(h.Marks)),
	}
	// The store's marks are byte offsets.
	for _, m := range h.Marks {
		from := utf8.RuneCountInString(h.Snippet[:m[0]])
		j.Marks = append(j.Marks, [2]int{from, from + utf8.RuneCountInString(h.Snippet[m[0]:m[1]])})
	}
	if h.Score != 0 {
		j.Score = &h.Score
	}
	if r := h.Run; r != nil {
		j.Run, j.Line, j.Path, j.CWD, j.Title, j.Kind = r.Header.RunID, h.Line, r.Path, r.CWD(), r.Prompt, "run"
		return j
	}
	r := h.Session
	j.Session, j.Path, j.Dialect, j.CWD, j.Title = &r.ID, r.Path, r.Dialect.Name(), r.CWD, r.Heading()
	if h.Entry == "" {
		j.Kind = "session"
	} else {
		j.Entry = &h.Entry
	}
	return j
}

// HitRef names the entry of a hit as session#entry, or a run by its id. short uses the shortest unambiguous prefix of the id. If several
// sessions have the id (copies of a file), the path is used instead.
func HitRef(h *find.Hit, short bool) string {
	if h.Run != nil {
		return screen.OneLine(h.Run.Header.RunID, 0)
	}
	id := string(h.Session.ID)
	switch {
	case h.Shared:
		id = h.Session.Path
	case short:
		id = h.Session.Short
	}
	if h.Entry != "" {
		id += "#" + string(h.Entry)
	}
	return screen.OneLine(id, 0)
}
