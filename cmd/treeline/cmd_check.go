package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// checkCommand reads everything and believes nothing: unlike a list it looks at every record, and at the blobs
// that records name. It changes nothing, so that it can be run on what is worth saving. Its JSON is a list of
// session.Problem, whose members are stable.
func (a *app) checkCommand() *cobra.Command {
	var (
		f   sessionFlags
		all bool
	)
	cmd := &cobra.Command{
		Use:   "check <session|dir>…",
		Short: "Tell what is wrong with session files",
		Long: "Read sessions, and all session files in folders, and list every problem: where it is, what was kept, and what one can\n" +
			"do. Pictures that a session names and that are not there are problems too. Nothing is changed. With --all the sessions\n" +
			"of all agents are read, wherever they are.\n\n" +
			"The exit code is 1 where there is any problem." + sessionHelp,
		Example: "  treeline check @last\n  treeline check --all\n  treeline check ~/.omp/agent/sessions\n  treeline check . --json | jq -r '.[].kind' | sort | uniq -c",
		Args: func(cmd *cobra.Command, given []string) error {
			switch {
			case len(given) == 0 && !all:
				return usageError{errors.New("<session|dir> is missing; --all checks the sessions of all agents"), cmd}
			case len(given) > 0 && all:
				return usageError{errors.New("--all means all sessions: no other can be named"), cmd}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			s, err := a.store()
			if err != nil {
				return err
			}
			opt, err := openOptions(s, cmd, f)
			if err != nil {
				return err
			}
			// With --all nothing is named, so this gives nothing and is replaced.
			files, problems, err := a.filesIn(cmd.Context(), s, given)
			if all {
				files, problems, err = allFiles(cmd.Context(), s)
			}
			if err != nil {
				return err
			}
			return a.check(cmd.Context(), s, files, problems, opt, f.json)
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "check the sessions of all agents; see 'treeline sources'")
	return cmd
}

// check reads files, and tells of what is wrong with them behind what is known to be.
// What was found before any file was read (folders that cannot be listed) comes first. One file after the other, so
// that problems come out in the order of the files.
func (a *app) check(ctx context.Context, s *store.Store, files []string, problems []session.Problem, opt store.OpenOptions, asJSON bool) error {
	progress := a.newProgress("checking", len(files))
	found, done := 0, 0
	err := a.print(ctx, a.stdout, 0, func(ctx context.Context, out *output) error {
		list := arrayWriter{w: out}
		// The first turn prints what is known already, each later one what the file before it had.
		for {
			for _, p := range problems {
				found++
				progress.clear()
				if err := printProblem(out, &list, p, asJSON); err != nil {
					return err
				}
			}
			if len(problems) > 0 && !asJSON {
				out.Flush() // someone may be waiting for a long run
			}
			if done == len(files) || ctx.Err() != nil {
				break
			}
			problems = checkFile(ctx, s, files[done], opt)
			done++
			progress.at(done)
		}
		progress.clear()
		if asJSON {
			return list.end()
		}
		_, err := fmt.Fprintf(out, "%s, %s\n", counted(done, "file", "files"), counted(found, "problem", "problems"))
		return err
	})
	// An interrupted check must not look like a clean one, so it fails, also where nothing was found so far.
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted after %s of %s", grouped(int64(done)), counted(len(files), "file", "files"))
	case found > 0:
		return quietError{errors.New("there are problems")}
	// No files is no problem: an empty folder is in order.
	case len(files) == 0:
		fmt.Fprintln(a.stderr, "treeline: no session files there")
	}
	return nil
}

// allFiles gives the files of all sessions.
// A list that is damaged somewhere still has the other files; what could not be looked at is a problem of its own.
func allFiles(ctx context.Context, s *store.Store) (files []string, problems []session.Problem, err error) {
	rows, err := s.List(ctx, store.ListOptions{Problem: func(err error) {
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

// filesIn gives the files to check: those of the sessions named, and the logs in the folders named. A folder that cannot be
// read is a problem; a session or path that does not exist is an error.
func (a *app) filesIn(ctx context.Context, s *store.Store, refs []string) (files []string, problems []session.Problem, err error) {
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
		// An agent may keep a session in a file that is not there under that name (a row of a database): isState
		// knows.
		case err != nil && isPath(ref) && !isState(s, ref):
			return nil, nil, atPath(ref, err)
		}
		path, err := a.locate(ctx, s, ref)
		if errors.Is(err, store.ErrNoSession) && ref != "@last" {
			return nil, nil, fmt.Errorf("%s: no such file, and %w; 'treeline ls --all' lists them", ref, store.ErrNoSession)
		}
		if err != nil {
			return nil, nil, err
		}
		files = append(files, path)
	}
	return files, problems, nil
}

// logsBelow gives the logs in a folder: all text, and what else an agent keeps there as a session.
// Files that are not text are left out, because folders of agents hold databases, pictures and backups, which are
// no sessions that are broken.
func logsBelow(ctx context.Context, s *store.Store, dir string) (files []string, problems []session.Problem, err error) {
	b, err := file.New(dir, file.Options{ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	for log, err := range b.List(ctx, "") {
		name := filepath.Join(dir, filepath.FromSlash(log.Name))
		switch {
		case ctx.Err() != nil:
			return files, problems, nil
		case err != nil:
			problems = append(problems, unreadable(name, err))
		case backend.IsText(log.Name) || isState(s, name):
			files = append(files, name)
		}
	}
	return files, problems, nil
}

// isState says whether a name is that of a session in the place of an agent, whatever file it stands in.
func isState(s *store.Store, path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	for _, src := range s.Sources() {
		rel, err := filepath.Rel(src.Root.Sessions, abs)
		if err == nil && filepath.IsLocal(rel) && src.Dialect.Layout().Owns(filepath.ToSlash(rel)) {
			return true
		}
	}
	return false
}

// unreadable is for what could not be read at all, as opposed to read with damage.
func unreadable(path string, err error) session.Problem {
	return session.Problem{File: path, Kind: session.ProblemUnreadable, Message: err.Error(),
		Advice: "nothing of it was checked"}
}

// checkFile gives all that is wrong with one file.
// An interruption is no problem of the file that was being read.
func checkFile(ctx context.Context, s *store.Store, path string, opt store.OpenOptions) []session.Problem {
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
	problems, err := sess.Check(ctx)
	if err != nil && ctx.Err() == nil {
		problems = append(problems, unreadable(path, err))
	}
	return problems
}

// printProblem prints a problem as compilers do: place, kind and message on a line, and below it what can be done.
// Editors and CI jobs know how to jump to file:line.
func printProblem(out *output, list *arrayWriter, p session.Problem, asJSON bool) error {
	if asJSON {
		return list.add(p)
	}
	st := out.style
	where := screen.Clean(p.File)
	if p.Line > 0 {
		where += fmt.Sprintf(":%d", p.Line)
	}
	message := screen.OneLine(p.Message, 0)
	if p.Line > 0 {
		message += st.dim(fmt.Sprintf(" (byte %d)", p.Offset))
	}
	fmt.Fprintf(out, "%s: %s: %s\n", st.bold(where), st.red(string(p.Kind)), message)
	if p.Advice != "" {
		fmt.Fprintln(out, st.dim("    "+screen.OneLine(p.Advice, 0)))
	}
	return nil
}
