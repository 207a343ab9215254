package page

import (
	"html/template"
	"io"
	"net/url"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// ErrorPage says what went wrong and what to do.
type ErrorPage struct {
	// Status is that of the answer: 404.
	Status int
	// Message says what went wrong, Advice what can be done.
	Message, Advice string
}

// LoginPage asks for a token. The form posts token and next to /login.
type LoginPage struct {
	// Next is the address to go to afterwards.
	Next string
	// Users: tokens are made by 'treeline token add'. Otherwise the server was started with one.
	Users bool
	// Wrong says why the last token was refused; "" if there was none.
	Wrong string
}

// RawPage is one entry as it is in its log.
type RawPage struct {
	// Key and Title are those of the session, Entry is the id.
	Key, Title, Entry string
	// Type is the agent's own name of the kind.
	Type string
	// Path, Line and Offset say where the record is.
	Path   string
	Line   int
	Offset int64
	// JSON is the record, byte for byte.
	JSON []byte
	// Exact shows the record as it is; otherwise it is indented.
	Exact bool
	// Previous and Next are the entries before and after it in the log; "" for none.
	Previous, Next string
}

// Error writes an error.
func (s *Site) Error(w io.Writer, p ErrorPage) error {
	return s.write(w, "error.html", view{Title: p.Message, Page: p})
}

// Login writes the form that asks for the token.
func (s *Site) Login(w io.Writer, p LoginPage) error {
	return s.write(w, "login.html", view{Title: "Sign in", Page: p})
}

// Raw writes one entry. The form "download" of its address is answered by the server with the bytes of the record.
func (s *Site) Raw(w io.Writer, p RawPage) error {
	return s.write(w, "raw.html", view{Section: "sessions", Title: p.Entry + " · " + p.Title, Page: &rawView{p, s}})
}

// rawView is what the template of an entry gets.
type rawView struct {
	RawPage
	site *Site
}

// mostRaw bounds how much of a record a page shows.
const mostRaw = 256 << 10

// Length is the size of the record.
func (v *rawView) Length() int64 { return int64(len(v.JSON)) }

// Cut counts the bytes that are not shown.
func (v *rawView) Cut() int64 { return max(v.Length()-mostRaw, 0) }

// Body is the record. One that is cut is not indented: it is no JSON any more.
func (v *rawView) Body() template.HTML {
	text := cut(string(v.JSON), mostRaw)
	if !v.Exact && v.Cut() == 0 {
		text = wire.Indent(v.JSON)
	}
	return jsonCode(text)
}

// Back leads to the entry in its session.
func (v *rawView) Back() string {
	return v.site.EntryLink(v.Key, session.EntryID(v.Entry), session.EntryID(v.Entry))
}

func (v *rawView) entry(id, form string) string {
	if id == "" {
		return ""
	}
	values := url.Values{}
	if form != "" {
		values.Set("form", form)
	}
	return with(v.site.RawLink(v.Key, session.EntryID(id)), values)
}

func (v *rawView) form() string {
	if v.Exact {
		return "exact"
	}
	return ""
}

// Forms are the links to the two forms.
func (v *rawView) Forms() []item {
	return []item{{Text: "Indented", Href: v.entry(v.Entry, ""), On: !v.Exact}, {Text: "Exact", Href: v.entry(v.Entry, "exact"), On: v.Exact}}
}

// PreviousLink and NextLink lead to the neighbours in the log.
func (v *rawView) PreviousLink() string { return v.entry(v.Previous, v.form()) }

// NextLink leads to the entry after it.
func (v *rawView) NextLink() string { return v.entry(v.Next, v.form()) }

// Download is the address of the bytes.
func (v *rawView) Download() string { return v.entry(v.Entry, "download") }
