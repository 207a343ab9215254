package treeline

import (
	"context"
	"path/filepath"

	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/push"
)

// pulledDir is the folder for sessions that were pulled from other machines. Below it are folders ORIGIN/SOURCE, each laid out like
// the folder of its agent.
func pulledDir(data string) string { return filepath.Join(data, "pulled") }

// pulledRoots returns the places of sessions that were pulled from other machines.
func pulledRoots(dialects []dialect.Dialect, data string) (list []place.ExtraRoot) {
	dir := pulledDir(data)
	origins, err := file.Folders(dir)
	if err != nil {
		return nil // usually there is no such folder
	}
	for _, origin := range origins {
		sources, err := file.Folders(filepath.Join(dir, origin))
		if err != nil {
			continue // the error shows when the source is listed
		}
		for _, source := range sources {
			d, err := place.FindDialect(dialects, push.Agent(source))
			if err != nil {
				d = dialects[0] // pulled by a version of treeline that knows more dialects
			}
			root := push.Root(d, filepath.Join(dir, origin, source))
			list = append(list, place.ExtraRoot{Path: root.Sessions, Dialect: d.Name(), Origin: origin})
		}
	}
	return list
}

// copier opens an archive by its URL for copying. A machine that has no identity yet gets one.
func (s *Store) copier(url string) (*push.Copier, push.Target, error) {
	env := s.Env()
	data := DataDir(env.Home, env.Getenv)
	origin, err := Origin(data)
	if err != nil {
		return nil, push.Target{}, err
	}
	b, shown, err := s.OpenArchive(url)
	if err != nil {
		return nil, push.Target{}, err
	}
	return push.New(push.Options{
		Machine: s.Machine, Origin: origin, State: s.state, Pulled: pulledDir(data), Clock: s.clock,
		Trash: func(ctx context.Context, path string) error {
			_, err := s.Trash(ctx, path)
			return err
		},
	}), push.Target{Backend: b, Shown: shown}, nil
}

// Push copies what is new in the sessions of this machine to an archive, named by its URL. See package push.
func (s *Store) Push(ctx context.Context, url string, opt PushOptions) (CopyReport, error) {
	c, t, err := s.copier(url)
	if err != nil {
		return CopyReport{}, err
	}
	return c.Push(ctx, t, opt)
}

// PushWatching pushes, and then pushes whatever is written until ctx ends. told gets the report, or the error, of each push that
// did something.
func (s *Store) PushWatching(ctx context.Context, url string, opt PushOptions, told func(CopyReport, error)) error {
	c, t, err := s.copier(url)
	if err != nil {
		return err
	}
	return c.Watch(ctx, t, opt, push.Watching{Told: told})
}

// Pull copies what is new in an archive to this machine. See package push.
func (s *Store) Pull(ctx context.Context, url string, opt PullOptions) (CopyReport, error) {
	c, t, err := s.copier(url)
	if err != nil {
		return CopyReport{}, err
	}
	return c.Pull(ctx, t, opt)
}
