package keeping

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Check reads every record, and every blob that a record names. It changes nothing. Its JSON is a list of
// session.Problem, whose members are stable, or of wire.Secret.
func Check(a *cli.App) *cobra.Command {
	var (
		dialectName  string
		all, secrets bool
	)
	cmd := &cobra.Command{
		Use:        "check <session|dir>…",
		SuggestFor: []string{"verify", "fsck", "doctor", "validate", "lint", "secrets", "scan"},
		Short:      "Find problems or secrets in session files",
		Long: "Read sessions, and all session files in folders, and list every problem: where it is, what was kept, and what to do\n" +
			"about it. A missing image is a problem too. Nothing is changed. --all checks the sessions of all agents.\n\n" +
			"--secrets lists keys, tokens and passwords instead: where each one is, and its kind. The secret itself is not printed.\n" +
			"docs/security.md lists the kinds.\n\n" +
			"The exit code is 1 if there is any problem or secret." + cli.SessionHelp,
		Example: "  treeline check @last\n  treeline check --all\n  treeline check --all --secrets\n  treeline check ~/.omp/agent/sessions\n  treeline check . --json | jq -r '.[].kind' | sort | uniq -c",
		Args: func(cmd *cobra.Command, given []string) error {
			switch {
			case len(given) == 0 && !all:
				return cli.Misused("<session|dir> is missing; --all checks the sessions of all agents")
			case len(given) > 0 && all:
				return cli.Misused("--all cannot be combined with a session")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			s, err := a.Store()
			if err != nil {
				return err
			}
			d, err := cli.NamedDialect(s, dialectName)
			if err != nil {
				return err
			}
			ctx, opt := cmd.Context(), store.OpenOptions{Dialect: d}
			var files []string
			var problems []session.Problem
			if all {
				files, problems, err = allFiles(ctx, s)
			} else {
				files, problems, err = filesIn(ctx, a, s, given)
			}
			if err != nil {
				return err
			}
			if secrets {
				return checkSecrets(ctx, a, s, files, problems, opt)
			}
			return check(ctx, a, files, checked[session.Problem]{
				known: problems, one: "problem", many: "problems",
				look: func(path string) []session.Problem { return checkFile(ctx, s, path, opt) },
				show: (*wire.Page).Problem,
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	a.AddDialect(cmd, &dialectName)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "check the sessions of all agents; see 'treeline sources'")
	cmd.Flags().BoolVar(&secrets, "secrets", false, "list keys, tokens and passwords instead of problems")
	return cmd
}

// checkSecrets lists secrets. A file that cannot be read is reported, and fails the check.
func checkSecrets(ctx context.Context, a *cli.App, s *treeline.Store, files []string, problems []session.Problem, opt store.OpenOptions) error {
	err := check(ctx, a, files, checked[wire.Secret]{
		one: "secret", many: "secrets",
		look: func(path string) (list []wire.Secret) {
			found, err := s.Secrets(ctx, path, opt)
			if err != nil && ctx.Err() == nil {
				problems = append(problems, unreadable(path, err))
			}
			for _, f := range found {
				list = append(list, wire.NewSecret(f))
			}
			return list
		},
		show: (*wire.Page).Secret,
	})
	a.Problems(problems)
	if err == nil && len(problems) > 0 {
		err = cli.Quiet("there are problems")
	}
	return err
}

// checked says what a check looks for: problems or secrets.
type checked[T any] struct {
	known     []T // known before any file is read
	look      func(path string) []T
	show      func(*wire.Page, T)
	one, many string
}

// check reads files one after the other and prints what it finds, after what is already known.
func check[T any](ctx context.Context, a *cli.App, files []string, c checked[T]) error {
	progress := a.Progress("checking")
	found, done := 0, 0
	err := a.Print(func(out *console.Output) error {
		list, page := wire.Array{W: out}, out.Page()
		// The first round prints what is already known; each later one prints what was found in the previous file.
		for here := c.known; ; {
			for _, x := range here {
				found++
				progress.Clear()
				if !a.JSON {
					c.show(&page, x)
				} else if err := list.Add(x); err != nil {
					return err
				}
			}
			if len(here) > 0 && !a.JSON {
				_ = out.Flush() // a check may take long
			}
			if done == len(files) || ctx.Err() != nil {
				break
			}
			here = c.look(files[done])
			done++
			progress.At(done, len(files))
		}
		progress.Clear()
		if a.JSON {
			return list.End()
		}
		_, err := fmt.Fprintf(out, "%s, %s\n", wire.Count(done, "file", "files"), wire.Count(found, c.one, c.many))
		return err
	})
	// An interrupted check fails even if nothing was found so far.
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted after %s of %s", wire.Number(int64(done)), wire.Count(len(files), "file", "files"))
	case found > 0:
		return cli.Quiet("there are " + c.many)
	case len(files) == 0:
		a.Notice("no session files there")
	}
	return nil
}

// allFiles returns the files of all sessions. Files that could not be listed are problems.
func allFiles(ctx context.Context, s *treeline.Store) (files []string, problems []session.Problem, err error) {
	rows, err := s.List(ctx, place.ListOptions{Problem: func(err error) {
		path := ""
		var at *fs.PathError
		if errors.As(err, &at) {
			path, err = at.Path, at.Err
		}
		problems = append(problems, unreadable(path, err))
	}})
	for i := range rows {
		files = append(files, rows[i].Path)
	}
	return files, problems, err
}

// filesIn returns the files of sessions and the logs in folders. A folder that cannot be read is a problem; a session or path that does not
// exist is an error.
func filesIn(ctx context.Context, a *cli.App, s *treeline.Store, refs []string) (files []string, problems []session.Problem, err error) {
	for _, ref := range refs {
		info, err := os.Stat(ref)
		switch {
		case err == nil && info.IsDir():
			inside, wrong, err := logsBelow(ctx, s, ref)
			if err != nil {
				return nil, nil, err
			}
			files, problems = append(files, inside...), append(problems, wrong...)
			continue
		// A session may be a row of a database, so no file has its name.
		case err != nil && cli.IsPath(ref) && !isState(s, ref):
			return nil, nil, cli.AtPath(ref, err)
		}
		path, err := a.Locate(ctx, s, ref)
		if _, last := place.Last(ref); errors.Is(err, place.ErrNoSession) && !last && ref != "" {
			return nil, nil, fmt.Errorf("%s: no such file, and %w", ref, place.ErrNoSession)
		}
		if err != nil {
			return nil, nil, err
		}
		files = append(files, path)
	}
	return files, problems, nil
}

// logsBelow returns the logs in a folder: text files, and other files that an agent keeps there as sessions. Databases, images and backups
// are left out: they are not broken sessions.
func logsBelow(ctx context.Context, s *treeline.Store, dir string) (files []string, problems []session.Problem, err error) {
	b, err := s.Machine.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	for log, err := range b.List(ctx, "") {
		name := place.Join(dir, log.Name)
		switch {
		case ctx.Err() != nil:
			return files, problems, nil
		case err != nil:
			problems = append(problems, unreadable(name, err))
		case backend.Lines(b, log.Name) || isState(s, name):
			files = append(files, name)
		}
	}
	return files, problems, nil
}

// isState reports whether an agent would store a session under this name.
func isState(s *treeline.Store, path string) bool {
	return cli.InSource(s, path, func(src place.Source, name string) bool { return src.Dialect.Layout().Owns(name) })
}

// unreadable returns the problem of a file that could not be read at all.
func unreadable(path string, err error) session.Problem {
	var at *fs.PathError
	if errors.As(err, &at) && at.Path == path {
		err = cli.AtPath(path, at)
	}
	message := strings.TrimPrefix(cli.OpenError(path, err).Error(), path+": ") // the problem names the file itself
	return session.Problem{File: path, Kind: session.ProblemUnreadable, Message: message, Advice: "nothing of it was checked"}
}

// checkFile returns the problems of one file. An interruption is not one of them.
func checkFile(ctx context.Context, s *treeline.Store, path string, opt store.OpenOptions) []session.Problem {
	sess, err := s.Open(ctx, path, opt)
	if err != nil {
		var p *session.Problem
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &p):
			return []session.Problem{*p}
		}
		return []session.Problem{unreadable(path, err)}
	}
	defer sess.Close()
	problems, err := s.Check(ctx, sess)
	if err != nil && ctx.Err() == nil {
		problems = append(problems, unreadable(path, err))
	}
	return problems
}
