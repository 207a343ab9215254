package page

import "io"

// ErrorPage says what went wrong and what to do.
type ErrorPage struct {
	// Status is that of the answer: 404.
	Status int
	// Message says what went wrong, Advice what can be done.
	Message, Advice string
}

// LoginPage asks for the token of the server. The form posts token and next to /login.
type LoginPage struct {
	// Next is the address to go to afterwards.
	Next string
	// Wrong: the last token was.
	Wrong bool
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

// Raw writes one entry.
func (s *Site) Raw(w io.Writer, p RawPage) error {
	return s.write(w, "raw.html", view{Section: "sessions", Title: p.Entry + " · " + p.Title, Page: p})
}
