package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/server/guard"
)

const htmlMedia = "text/html; charset=utf-8"

// pages adds the routes of pages. Package page documents their addresses.
func (s *Server) pages() {
	s.site = &page.Site{Base: s.base, Home: s.opt.Home, Now: s.opt.Clock, Zone: s.opt.Clock().Location(), SignOut: s.guard.Closed()}
	s.handle("GET /{$}", sessionsPage)
	s.handle("GET /s/{session}", oneSessionPage)
	s.handle("GET /s/{session}/fragment", fragmentPage)
	s.handle("GET /s/{session}/raw/{entry}", rawPage)
	s.handle("GET /s/{session}/image/{entry}/{index}", image)
	s.handle("GET /s/{session}/export", exportPage)
	s.handle("GET /search", searchPage)
	s.handle("GET /runs", runsPage)
	s.handle("GET /runs/{run}", oneRunPage)
	s.handle("GET /usage", usagePage)
	s.handle("GET /usage.csv", usageCSV)
	s.handle("GET /login", loginPage)
	s.handle("POST /login", login)
	s.handle("POST /logout", logout)
	s.handle("GET /assets/{name}", asset)
	if s.base != "" {
		s.mux.Handle("GET "+s.base, http.RedirectHandler(s.base+"/", http.StatusPermanentRedirect))
	}
}

// html makes a page and sends it.
func (r *request) html(f func(*bytes.Buffer) error) error { return r.made(htmlMedia, f) }

// isPage reports whether a request is for a page. Its failures are pages, too.
func (r *request) isPage() bool {
	path := strings.TrimPrefix(r.URL.Path, r.s.base)
	return !strings.HasPrefix(path, apiPath+"/") && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// sayPage writes a page that says why a request failed. If it needs a token, this is the form that asks for one.
func (r *request) sayPage(code int, err error) {
	var b bytes.Buffer
	if code == http.StatusUnauthorized {
		p := page.LoginPage{}
		if r.Method == http.MethodGet { // other addresses accept only POST
			p.Next = r.URL.RequestURI()
		}
		if _, given := guard.Given(r.Request); given {
			p.Wrong = err.Error()
		}
		_ = r.askToken(&b, p) // a bytes.Buffer returns no error
	} else {
		_ = r.s.site.Error(&b, page.ErrorPage{Status: code, Message: err.Error(), Advice: advice(code)})
	}
	r.w.Header().Set("Content-Type", htmlMedia)
	r.w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = r.w.Write(b.Bytes()) // the client may be gone
	}
}

// advice returns what a person can do about a failure.
func advice(code int) string {
	switch code {
	case http.StatusNotFound:
		return "It may have been moved or deleted."
	case http.StatusConflict:
		return "Another program is writing to it. Try again."
	case http.StatusInternalServerError:
		return "The server's log has the details."
	}
	return ""
}

func loginPage(r *request) error {
	return r.html(func(b *bytes.Buffer) error {
		return r.askToken(b, page.LoginPage{Next: r.inside(r.URL.Query().Get("next"))})
	})
}

// askToken writes the form that asks for a token.
func (r *request) askToken(w io.Writer, p page.LoginPage) error {
	p.Users = r.s.opt.Access != nil
	return r.s.site.Login(w, p)
}

// login gives a browser that sends a valid token a cookie.
func login(r *request) error {
	r.Body = http.MaxBytesReader(r.w, r.Body, guard.QueryMost)
	if err := r.ParseForm(); err != nil {
		return bad("the form cannot be read: %v", err)
	}
	next := r.inside(r.PostForm.Get("next"))
	if g := &r.s.guard; g.Closed() {
		cookie, grant, err := g.Login(r.Request, strings.TrimSpace(r.PostForm.Get("token")))
		r.grant = grant
		r.note("login", err)
		var no *guard.Refusal
		switch {
		case errors.As(err, &no) && no.Status == http.StatusUnauthorized:
			r.s.log.Warn("refused", "path", r.URL.Path, "from", r.RemoteAddr, "reason", err)
			r.w.Header().Set("Content-Type", htmlMedia)
			r.w.WriteHeader(http.StatusUnauthorized)
			return r.askToken(r.w, page.LoginPage{Next: next, Wrong: err.Error()})
		case err != nil:
			return err
		}
		http.SetCookie(r.w, cookie)
	}
	http.Redirect(r.w, r.Request, next, http.StatusSeeOther)
	return nil
}

// logout deletes the browser's cookie.
func logout(r *request) error {
	http.SetCookie(r.w, r.s.guard.Logout())
	http.Redirect(r.w, r.Request, r.s.base+"/login", http.StatusSeeOther)
	return nil
}

// inside returns next if it is an address of this server, and otherwise the address of the first page.
func (r *request) inside(next string) string {
	u, err := url.Parse(next)
	first := r.s.base + "/"
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, first) || !guard.PlainPath(u.Path) {
		return first
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// asset sends a file that pages use. Its name contains a hash of its content.
func asset(r *request) error {
	name := r.PathValue("name")
	for _, a := range page.Assets() {
		if a.Name != name {
			continue
		}
		r.w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		return r.made(a.Type, func(b *bytes.Buffer) error {
			b.Write(a.Data)
			return nil
		})
	}
	return guard.Refuse(http.StatusNotFound, "there is nothing at this path")
}
