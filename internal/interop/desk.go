package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/interop/draft"
	"github.com/treeline-dev/treeline/internal/interop/fakeapi"
	"github.com/treeline-dev/treeline/internal/interop/projected"
	"github.com/treeline-dev/treeline/session"
)

// desk is a place where an agent resumes one session after the other: a home, a working directory, and a stand-in for the
// provider.
type desk struct {
	agent
	path    string // path of the binary
	home    string
	workDir string
	api     *fakeapi.Server
}

// longest is how long an agent may take to resume a session. Idle machines need a few seconds; a loaded one needs minutes.
const longest = 4 * time.Minute

func newDesk(a agent, path, home string) (*desk, error) {
	// Agents resolve links in the working directory.
	for _, dir := range []string{"project", "tmp"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			return nil, err
		}
	}
	home, err := filepath.EvalSymlinks(home)
	if err != nil {
		return nil, err
	}
	d := &desk{agent: a, path: path, home: home, workDir: filepath.Join(home, "project")}
	if d.api, err = fakeapi.Start(); err != nil {
		return nil, err
	}
	if err := a.settings(home, d.workDir, d.api.URL()); err != nil {
		return nil, errors.Join(err, d.api.Close())
	}
	return d, nil
}

func (d *desk) close() error { return d.api.Close() }

// clear removes the files of earlier sessions.
func (d *desk) clear() error {
	for _, pattern := range d.traces {
		found, err := filepath.Glob(filepath.Join(d.home, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// start runs the program once, so that it makes its database.
func (d *desk) start(ctx context.Context) error {
	if d.rows == nil {
		return nil
	}
	path := filepath.Join(d.home, d.rows.database)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	said, err := d.run(ctx, d.workDir, nil, d.begin("hello"))
	if err == nil {
		if _, err = os.Stat(path); err != nil {
			err = fmt.Errorf("%w: %s said %s", err, d.program.name, said)
		}
	}
	return err
}

// store opens a store of this library in the agent's home.
func (d *desk) store() (*treeline.Store, error) {
	opt := treeline.Options{Home: d.home, WorkDir: d.workDir, Getenv: func(string) string { return "" }, NoBreadcrumbs: true}
	if d.rows != nil {
		opt.Backends = all.Drivers()
	}
	return treeline.New(opt)
}

// lay writes a log where the agent looks for a session. Others are logs beside it.
func (d *desk) lay(id string, log []byte, others map[string][]byte) (c treeline.ResumeCommand, err error) {
	path := filepath.Join(d.home, d.place(d.workDir, id))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return c, err
	}
	for name, content := range others {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), content, 0o600); err != nil {
			return c, err
		}
	}
	// The command names the session by the id that the caller uses: not every file is named after the whole id.
	c = treeline.ResumeCommand{Path: path, Launch: dialect.Launch{Args: append(d.resume[:len(d.resume):len(d.resume)], id)}}
	return c, os.WriteFile(path, bytes.ReplaceAll(log, []byte(draft.CWD), []byte(d.workDir)), 0o600)
}

// command returns the command with which, according to this library, the agent continues a session.
func (d *desk) command(ctx context.Context, store *treeline.Store, path string, opt treeline.ResumeOptions) (c treeline.ResumeCommand, err error) {
	s, err := store.Open(ctx, path, treeline.OpenOptions{Dialect: d.dialect})
	if err != nil {
		return c, err
	}
	defer s.Close()
	return store.ResumeCommand(ctx, s, opt)
}

// expect is what this library says that the agent sends, and the model that the session names last. A session that has no conversation for the
// agent has no messages.
func (d *desk) expect(ctx context.Context, path string) (messages []string, model string, err error) {
	store, err := d.store()
	if err != nil {
		return nil, "", err
	}
	defer store.Close()
	s, err := store.Open(ctx, path, treeline.OpenOptions{Dialect: d.dialect})
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	if model, err = lastModel(s); err != nil {
		return nil, "", err
	}
	messages, err = d.expectAt(ctx, s, s.Leaf())
	return messages, model, err
}

// lastModel is the model of the last answer that names one.
func lastModel(s *treeline.Session) (model string, err error) {
	for e := range s.Tree().Entries() {
		if e.Kind != session.KindMessage || e.Role != session.RoleAssistant {
			continue
		}
		body, err := e.Body()
		if err != nil {
			return "", err
		}
		if m, ok := body.(session.Message); ok && m.Model != "" {
			model = m.Model
		}
	}
	return model, nil
}

// expectAt is what this library says of a leaf: the messages of "treeline context --parts".
func (d *desk) expectAt(ctx context.Context, s *treeline.Session, leaf session.EntryID) ([]string, error) {
	return projected.Context(treeline.Messages(ctx, s, leaf, treeline.ContextOptions{}), d.agent.api == fakeapi.Messages)
}

// uuid finds the first id in the name of a session's file.
var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// sent is the request that the agent sends when it resumes the session in a file.
type sent struct {
	messages []string
	body     []byte // nil: it refused the session
	said     string // output of the agent
}

// ask lets the agent resume a session.
func (d *desk) ask(ctx context.Context, c treeline.ResumeCommand) (s sent, err error) {
	d.api.Take()
	if s.said, err = d.run(ctx, cmp.Or(c.Dir, d.workDir), c.Env, d.headless(c.Args, projected.NextPrompt)); err != nil {
		return s, err
	}
	_, err = d.took(&s)
	return s, err
}

// took reports whether the agent sent the prompt, and finds that request. Agents also ask for titles and the like, with the prompt inside a
// longer text; such a request may come first.
func (d *desk) took(s *sent) (ok bool, err error) {
	for _, r := range d.api.Take() {
		prompted := bytes.Contains(r.Body, []byte(`"`+projected.NextPrompt+`"`))
		if d.agent.api == fakeapi.Chat { // the prompt is in quotes or has a text around it; only a request for a title offers no tools
			prompted = bytes.Contains(r.Body, []byte(projected.NextPrompt)) && bytes.Contains(r.Body, []byte(cmp.Or(d.mark, `"tools":`)))
		}
		if r.API == d.agent.api && prompted {
			s.body = r.Body
			s.messages, err = d.project(r.Body)
			return true, err
		}
	}
	return false, nil
}

// environ returns the environment of the agent. Its temporary files are removed with its home: OpenCode leaves a library of 5 MB at each
// start.
func (d *desk) environ() []string {
	// Nothing listens at the proxy: requests to other hosts fail at once, without a look-up of names that takes seconds.
	return append(d.env(d.api.URL()), "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1", "HOME="+d.home, "TMPDIR="+filepath.Join(d.home, "tmp"), "PATH="+os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color")
}

// run starts the agent and returns its output. A failure of the agent is not an error.
func (d *desk) run(ctx context.Context, dir string, env, args []string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.path, args...)
	cmd.Dir = dir
	cmd.Env = append(d.environ(), env...)
	cmd.WaitDelay = 5 * time.Second // its children may hold the pipe open
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s took more than %s", d.program.name, longest)
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}
