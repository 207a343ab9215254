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
	// Status is the HTTP status, such as 404.
	Status int
	// Message says what went wrong; Advice says what can be done.
	Message, Advice string
}

// LoginPage asks for a token. The form posts token and next to /login.
type LoginPage struct {
	// Next is the address to go to afterwards.
	Next string
	// Users means that tokens are created by 'treeline token add'. Otherwise the server was started with one token.
	Users bool
	// Wrong says why the last token was refused; "" means that there was none.
	Wrong string
}

// RawPage is one entry as it is in its log.
type RawPage struct {
	// Key and Title are those of the session; Entry is the id of the entry.
	Key, Title, Entry string
	// Type is the agent's own name of the kind.
	Type string
	// Path, Line and Offset say where the record is.
	Path   string
	Line   int
	Offset int64
	// JSON is the record, byte for byte.
	JSON []byte
	// Exact shows the record unchanged; otherwise it is indented.
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
	out := *s
	out.SignOut = false
	return out.write(w, "login.html", view{Title: "Sign in", Page: p})
}

// Raw writes one entry. The server itself answers the form "download", with the bytes of the record.
func (s *Site) Raw(w io.Writer, p RawPage) error {
	return s.write(w, "raw.html", view{Section: "sessions", Title: p.Entry + " · " + p.Title, Page: &rawView{p, s}})
}

// rawView is the data of the template of an entry.
type rawView struct {
	RawPage
	site *Site
}

// mostRaw is the largest number of bytes of a record on a page.
const mostRaw = 256 << 10

// Length returns the size of the record.
func (v *rawView) Length() int64 { return int64(len(v.JSON)) }

// Cut returns the number of bytes that are not shown.
func (v *rawView) Cut() int64 { return max(v.Length()-mostRaw, 0) }

// Body returns the record. If it was cut, it is no longer valid JSON and is not indented.
func (v *rawView) Body() template.HTML {
	text := cut(string(v.JSON), mostRaw)
	if !v.Exact && v.Cut() == 0 {
		text = wire.Indent(v.JSON)
	}
	return jsonCode(text)
}

// Back returns the link to the entry in its session.
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

// Forms returns the links to the two forms.
func (v *rawView) Forms() []item {
	return []item{{Text: "Indented", Href: v.entry(v.Entry, ""), On: !v.Exact}, {Text: "Exact", Href: v.entry(v.Entry, "exact"), On: v.Exact}}
}

// PreviousLink returns the link to the entry before it in the log.
func (v *rawView) PreviousLink() string { return v.entry(v.Previous, v.form()) }

// NextLink returns the link to the entry after it.
func (v *rawView) NextLink() string { return v.entry(v.Next, v.form()) }

// Download returns the address of the bytes.
func (v *rawView) Download() string { return v.entry(v.Entry, "download") }
