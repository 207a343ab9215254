package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// changing opens a session for writing, calls f and closes it. A change that has begun is finished even if the client goes away, so that
// its outcome is known.
func (r *request) changing(key string, f func(context.Context, *store.Session) error) error {
	row, err := r.session(key)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	s, err := r.s.store.OpenWrite(ctx, row.Path, store.CreateOptions{Write: r.writing()})
	if err != nil {
		return err
	}
	if err = r.mayRead(s.Header()); err == nil {
		err = f(ctx, s)
	}
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	r.s.changed(row.Path)
	return err
}

// writing returns the options of a write of this request, with the user that it is made for.
func (r *request) writing() store.WriteOptions {
	opt := r.s.opt.Writing
	if r.grant != nil {
		opt.Writer = backend.Writer{Name: r.grant.Writer(), Limited: r.grant.Limited()}
	}
	return opt
}

// changed makes the server read a session and the list again.
func (s *Server) changed(path string) {
	s.docs.forget(path)
	s.list.Force()
}

type appendParams struct {
	sessionParams
	Text     *string           `json:"text,omitempty" doc:"a message with this text"`
	Role     string            `json:"role,omitempty" one:"user assistant tool" doc:"the speaker of text or parts; the default is user; tool is only for parts"`
	Parts    *[]wire.PartInput `json:"parts,omitempty" doc:"a message made of parts: of the user, one text and images; of the assistant, any; of a tool, one toolResult"`
	Provider string            `json:"provider,omitempty" doc:"with parts of the assistant: the provider of the model; the default is the model in use"`
	Model    string            `json:"model,omitempty" doc:"with parts of the assistant: the id of the model"`
	Message  json.RawMessage   `json:"message,omitempty" doc:"a message as the agent writes it"`
	Entry    json.RawMessage   `json:"entry,omitempty" doc:"an entry as the agent writes it; it gets a new id, parent and time"`
}

func appendEntry(r *request, p appendParams) (done wire.Appended, err error) {
	given := slices.DeleteFunc([]bool{p.Text != nil, p.Message != nil, p.Entry != nil, p.Parts != nil}, func(is bool) bool { return !is })
	role := session.RoleUser
	switch {
	case len(given) != 1:
		return done, bad("exactly one of \"text\", \"parts\", \"message\" and \"entry\" is needed")
	case p.Message != nil && p.Message[0] != '{', p.Entry != nil && p.Entry[0] != '{':
		return done, bad("\"message\" and \"entry\" must be objects")
	case p.Role != "" && p.Text == nil && p.Parts == nil:
		return done, bad("\"role\" needs \"text\" or \"parts\"")
	case (p.Provider != "" || p.Model != "") && (p.Parts == nil || p.Role != "assistant"):
		return done, bad("\"provider\" and \"model\" need \"parts\" of the assistant")
	case p.Parts != nil:
		add, err := wire.Appending(p.Role, *p.Parts, store.Answer{Provider: p.Provider, Model: p.Model})
		if err != nil {
			return done, bad("%v", err)
		}
		err = r.changing(p.Session, func(ctx context.Context, s *store.Session) error {
			a, err := add(ctx, s)
			if err == nil {
				done = wire.NewAppended(s, a)
			}
			return err
		})
		return done, err
	case p.Role == "assistant":
		role = session.RoleAssistant
	case p.Role != "" && p.Role != "user":
		return done, bad("\"role\" must be user or assistant, not %q", p.Role)
	}
	err = r.changing(p.Session, func(ctx context.Context, s *store.Session) error {
		var a store.Appended
		var err error
		switch {
		case p.Text != nil:
			a, err = s.AppendText(ctx, role, *p.Text)
		case p.Message != nil:
			a, err = s.AppendMessage(ctx, p.Message)
		default:
			a, err = s.AppendRecord(ctx, p.Entry)
		}
		if err == nil {
			done = wire.NewAppended(s, a)
		}
		return err
	})
	return done, err
}

type branchParams struct {
	sessionParams
	Entry   *session.EntryID `json:"entry" need:"" doc:"the new leaf; an empty id is the place before the first entry"`
	Summary string           `json:"summary,omitempty" doc:"tells the model what happened on the branch that is left"`
}

func branch(r *request, p branchParams) (done wire.Appended, err error) {
	err = r.changing(p.Session, func(ctx context.Context, s *store.Session) error {
		var a store.Appended
		var err error
		if p.Summary != "" {
			a, err = s.BranchWithSummary(ctx, *p.Entry, session.BranchSummary{Summary: p.Summary})
		} else {
			a, err = s.Branch(ctx, *p.Entry, store.BranchOptions{Durable: true})
		}
		if err == nil {
			done = wire.NewAppended(s, a)
		}
		return err
	})
	return done, err
}

type labelParams struct {
	sessionParams
	Entry session.EntryID `json:"entry" need:"" doc:"the entry that is labelled"`
	Label string          `json:"label" doc:"the label; an empty one removes it"`
}

func label(r *request, p labelParams) (wire.Label, error) {
	err := r.changing(p.Session, func(ctx context.Context, s *store.Session) error {
		_, err := s.Label(ctx, p.Entry, p.Label)
		return err
	})
	return wire.NewLabel(p.Entry, p.Label), err
}

type renameParams struct {
	sessionParams
	Title *string `json:"title" need:"" doc:"the title; an empty one removes it"`
}

func rename(r *request, p renameParams) (done keyedSession, err error) {
	err = r.changing(p.Session, func(ctx context.Context, s *store.Session) error {
		if err := s.Rename(ctx, *p.Title); err != nil {
			return err
		}
		done.Key = p.Session
		done.Session, err = wire.NewSession(s)
		return err
	})
	return done, err
}

type forkParams struct {
	sessionParams
	Leaf session.EntryID `json:"leaf,omitempty" doc:"copies only the path to this entry"`
	CWD  string          `json:"cwd,omitempty" doc:"the project directory of the copy, an absolute path; the default is that of the session"`
}

// fork only reads the old session. The copy is closed; the next request finds it in the list.
func fork(r *request, p forkParams) (done keyedSession, err error) {
	row, err := r.session(p.Session)
	if err != nil {
		return done, err
	}
	switch {
	case p.CWD == "":
	case !filepath.IsAbs(p.CWD):
		return done, bad("\"cwd\" must be an absolute path")
	default:
		// An agent may keep the copy under the path to which a link resolves.
		for _, dir := range []string{p.CWD, r.s.store.Machine.Resolved(p.CWD)} {
			if !r.grant.Allows(dir) {
				return done, guard.Refuse(http.StatusForbidden, "the token %q is not for the project %q", r.grant.Name, dir)
			}
		}
	}
	ctx := context.WithoutCancel(r.Context())
	opt := store.CreateOptions{CWD: p.CWD, Write: r.writing()}
	err = r.use(ctx, row.Path, func(doc *document) error {
		if p.CWD == "" {
			opt.CWD, opt.Write.Force, opt.Dir = doc.sess.CWD(), true, doc.sess.Dir() // the directory may no longer exist
		}
		if p.Leaf == "" {
			return nil
		}
		_, err := doc.sess.Tree().Get(p.Leaf)
		return err
	})
	if err != nil {
		return done, err
	}
	var s *store.Session
	if p.Leaf == "" {
		s, err = r.s.store.ForkFrom(ctx, row.Path, opt)
	} else {
		s, err = r.s.store.BranchFrom(ctx, row.Path, p.Leaf, opt)
	}
	if err != nil {
		return done, err
	}
	done.Session, err = wire.NewSession(s)
	if err = errors.Join(err, s.Close()); err != nil {
		return done, err
	}
	r.s.list.Force()
	l, err := r.listOf(find.Keys{Paths: []string{done.Path}})
	if err == nil {
		done.Key = l.KeyOf(done.Path)
	}
	return done, err
}

func trash(r *request, p sessionParams) (wire.Trashed, error) {
	row, err := r.session(p.Session)
	if err != nil {
		return wire.Trashed{}, err
	}
	item, err := r.s.store.TrashAs(context.WithoutCancel(r.Context()), r.writing().Writer, row.Path, r.mayRead)
	if err != nil {
		return wire.Trashed{}, err
	}
	r.s.changed(row.Path)
	return wire.NewTrashed(item), nil
}

func getVersion(r *request, _ struct{}) (wire.Version, error) { return r.s.opt.Version, nil }
