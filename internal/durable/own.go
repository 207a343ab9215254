package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// OpenOwn opens a file that only this program uses, such as a lock, and creates it if necessary. Another program may have put a link to a
// file of the user in its place. A symbolic link is not followed, and a file with a second name is not opened: such a name is removed, and
// the file is made anew.
func OpenOwn(fsys FS, path string, flag int) (File, error) {
	for range 10 { // limited, because a program may plant links all the time
		f, err := fsys.Open(path, flag|os.O_CREATE|NoFollow, 0o600)
		switch {
		case err == nil:
			info, err := f.Stat()
			if err == nil && info.Mode.IsRegular() && info.Links <= 1 {
				return f, nil
			}
			if err := errors.Join(err, f.Close()); err != nil {
				return nil, err
			}
		case !isLink(err):
			return nil, err
		}
		if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: links are put in its place again and again", path)
}
