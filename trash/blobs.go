package trash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/place"
)

// blobFolder is where unused blobs wait before they are deleted. It is next to the trash of sessions, because its files are not searched
// for references.
const blobFolder = "trash-blobs"

// blobKeep is how long they wait.
const blobKeep = 30 * 24 * time.Hour

// binned is a blob in the trash, as its record describes it.
type binned struct {
	// Ref and Names are those of the blob; Folder is the folder that it was in.
	Ref    string   `json:"ref"`
	Names  []string `json:"names"`
	Folder string   `json:"folder"`
	// Time is when it was removed.
	Time time.Time `json:"time"`

	id  string // its name in the trash
	ref blob.Ref
}

func (t *Trash) openBlobs() (backend.Backend, error) {
	if t.opt.State == "" || t.m.ReadOnly() {
		return nil, ErrNoState
	}
	return t.m.OpenWriting(place.Join(t.opt.State, blobFolder), backend.DurabilityAlways)
}

// throw moves a blob to the trash. The copy is durable before the blob is removed. removed is false if the blob was written again
// meanwhile.
func (g *collector) throw(ctx context.Context, bin backend.Backend, lister blob.Lister, b GCBlob) (removed bool, err error) {
	content, err := lister.Content(ctx, b.item)
	if err != nil {
		return false, err
	}
	record := binned{Ref: b.Ref.String(), Names: b.item.Names, Folder: b.folder, Time: g.opt.Clock().UTC()}
	made, err := record.write(ctx, bin, b.Ref.Hex(), content)
	if err == nil {
		// Remove compares the time again, so a blob that was written again meanwhile stays.
		if removed, err = lister.Remove(ctx, b.item, g.before); removed || err != nil {
			return removed, err // after an error, the copy may be all that is left
		}
	}
	for _, log := range made {
		err = errors.Join(err, bin.Remove(ctx, log))
	}
	return false, err
}

// write writes record and content under the first name that is free.
func (b *binned) write(ctx context.Context, bin backend.Backend, name string, content []byte) (made []backend.Log, err error) {
	record, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		b.id = fmt.Sprintf("%s-%d", name, n)
		at, err := bin.Create(ctx, b.id+originExt, record)
		if errors.Is(err, backend.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return nil, err
		}
		made = append(made, at)
		at, err = bin.Create(ctx, b.id+contentExt, content)
		if err == nil {
			made = append(made, at)
		}
		return made, err
	}
}

// listBinned lists the blobs in the trash, and adds them to those that references are searched for.
func (g *collector) listBinned(ctx context.Context) error {
	if g.opt.State == "" {
		return nil
	}
	bin, err := g.m.Open(place.Join(g.opt.State, blobFolder))
	if err != nil {
		return err
	}
	for log, err := range bin.List(ctx, "") {
		if err != nil {
			return err
		}
		id, ok := strings.CutSuffix(log.Name, originExt)
		if !ok {
			continue
		}
		record, err := backend.ReadAll(ctx, bin, log)
		if err != nil {
			return err
		}
		b := binned{}
		if err := json.Unmarshal(record, &b); err != nil {
			return fmt.Errorf("%s in the trash: %w", log.Name, err)
		}
		if b.ref, err = blob.ParseRef(b.Ref); err != nil {
			return fmt.Errorf("%s in the trash: %w", log.Name, err)
		}
		b.id = id
		g.binned = append(g.binned, b)
		g.used[b.ref] = false
	}
	return nil
}

// sortBinned counts the blobs in the trash that will be put back, and those that will be deleted. A blob that was removed twice is put back
// once.
func (g *collector) sortBinned() {
	back := map[string]bool{}
	for _, b := range g.binned {
		switch {
		case g.used[b.ref]:
			back[b.Folder+"\x00"+b.Ref] = true
			g.report.Restored = len(back)
		case g.expired(b):
			g.report.Expired++
		}
	}
}

func (g *collector) expired(b binned) bool { return g.opt.Clock().Sub(b.Time) >= blobKeep }

// applyBinned puts back the blobs that something refers to again, and deletes those that nothing referred to for 30 days.
func (g *collector) applyBinned(ctx context.Context, bin backend.Backend) error {
	for _, b := range g.binned {
		if g.used[b.ref] {
			if err := g.putBackBlob(ctx, bin, b); err != nil {
				return err
			}
		} else if !g.expired(b) {
			continue
		}
		item := Item{ID: b.id}
		if err := item.remove(ctx, bin); err != nil {
			return err
		}
	}
	return nil
}

// putBackBlob restores a blob to its folder, if that is still a folder of an agent's blobs.
func (g *collector) putBackBlob(ctx context.Context, bin backend.Backend, b binned) error {
	if !slices.Contains(g.blobs, b.Folder) {
		return fmt.Errorf("%s in the trash: %s is not a folder of blobs", b.id, b.Folder)
	}
	at, err := bin.Stat(ctx, b.id+contentExt)
	if errors.Is(err, backend.ErrNotExist) {
		return nil // a crash came before the content was written, so the blob was not removed
	}
	if err != nil {
		return err
	}
	content, err := backend.ReadAll(ctx, bin, at)
	if err != nil {
		return err
	}
	lister, ok := g.m.BlobsInWriting(b.Folder).(blob.Lister)
	if !ok {
		return fmt.Errorf("%s in the trash: %s cannot be written", b.id, b.Folder)
	}
	return lister.Restore(ctx, blob.Item{Ref: b.ref, Names: b.Names}, content)
}
