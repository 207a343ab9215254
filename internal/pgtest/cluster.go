package pgtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// initialise makes the data folder of a server. The result of initdb is kept in the user's cache folder and then copied, which takes a
// tenth of the time.
func (s *Server) initialise(initdb string) error {
	args := []string{"-U", User, "-A", "trust", "-N", "-E", "UTF8", "--locale=C", "--no-instructions"}
	kept := keptCluster(initdb, args)
	if _, err := os.Stat(kept); err == nil {
		return s.copyCluster(kept)
	}
	if err := s.tool.run(initdb, append([]string{"-D", s.data()}, args...)...); err != nil || kept == "" {
		return err
	}
	return keepCluster(s.data(), kept)
}

// keptCluster returns the folder for the result of a program; "" without a cache folder. A new version of the program has another folder.
func keptCluster(initdb string, args []string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	info, err := os.Stat(initdb)
	if err != nil {
		return ""
	}
	key := sha256.Sum256(fmt.Append(nil, initdb, info.Size(), info.ModTime().UnixNano(), args))
	return filepath.Join(cache, "treeline-pgtest", fmt.Sprintf("%x", key[:8]))
}

// keepCluster copies a folder that no server has used yet. Of several processes the first one wins.
func keepCluster(from, kept string) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(kept), "new-")
	if err != nil {
		return err
	}
	err = os.CopyFS(temporary, os.DirFS(from))
	if err == nil {
		err = os.Rename(temporary, kept)
	}
	if _, there := os.Stat(kept); err != nil && there == nil {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(temporary))
}

// copyCluster makes the data folder from a kept one.
func (s *Server) copyCluster(kept string) error {
	if err := os.CopyFS(s.data(), os.DirFS(kept)); err != nil {
		return err
	}
	if err := os.Chmod(s.data(), 0o700); err != nil { // the server requires it
		return err
	}
	return filepath.WalkDir(s.data(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return s.tool.cred.own(path)
	})
}
