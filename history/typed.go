package history

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// readHistories collects what agents keep in files of their own. Most of it is also in the sessions, as the same prompt; only the sessions
// tell where a prompt was used.
func (i *importing) readHistories(ctx context.Context, known map[string]string, there map[string]bool, rows []place.Row) {
	cwds := map[session.ID]string{}
	for n := range rows {
		cwds[rows[n].ID] = rows[n].CWD
	}
	for _, h := range i.opt.Sessions.Histories() {
		if ctx.Err() != nil {
			return
		}
		info, err := os.Stat(h.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		there[h.Path] = true
		stamp := ""
		if err == nil {
			stamp = fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
			if known[h.Path] == stamp {
				continue
			}
			err = i.readHistory(ctx, h, cwds)
		}
		if err != nil {
			i.report.Failed = append(i.report.Failed, h.Path)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		i.report.Histories++
		i.uses = append(i.uses, sessionUses{Path: h.Path, Stamp: stamp, Dialect: h.Dialect.Name()})
	}
}

// readHistory reads one file. Lines that are not prompts are ignored, such as one that is just being written.
func (i *importing) readHistory(ctx context.Context, h place.History, cwds map[session.ID]string) error {
	f, err := durable.OpenRegular(h.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	var last time.Time
	var line []byte
	for r := bufio.NewReaderSize(f, 1<<16); ctx.Err() == nil; {
		var long bool
		line, long, err = readLine(r, line[:0])
		if long {
			i.report.Prompts++
			i.report.TooLong++
		} else if t, ok := h.Read(bytes.TrimSpace(line)); ok {
			i.report.Prompts++
			if t.At.IsZero() {
				t.At = last // the time of the prompt before
			}
			last = t.At
			if len(t.Text) > longestPrompt {
				i.report.TooLong++
			} else {
				i.prompts = append(i.prompts, Prompt{Text: t.Text, CWD: cmp.Or(t.CWD, cwds[t.Session]), At: t.At})
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// longestLine is the longest line: that of the longest prompt with room for escapes and other members.
const longestLine = 8 * longestPrompt

// readLine reads a line into a buffer. A line that is too long is skipped, and only its beginning is in memory.
func readLine(r *bufio.Reader, line []byte) (_ []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > longestLine; !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}
