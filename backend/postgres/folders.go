package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

// The folders below a folder, whose name with a slash is $1. Each step is one index lookup: for the first log after those of the last
// folder. A log directly in the folder is a step too. '0' is the character after '/'.
const sqlFolders = `with recursive step (name) as (
		(select name from treeline.log where name >= $1 and removed is null order by name limit 1)
		union all
		select (select l.name from treeline.log l where l.name >= (case
				when strpos(substr(step.name, length($1) + 1), '/') = 0 then step.name || chr(1)
				else $1 || split_part(substr(step.name, length($1) + 1), '/', 1) || '0' end) collate "C"
			and l.removed is null order by l.name limit 1)
		from step where starts_with(step.name, $1))
	select split_part(substr(name, length($1) + 1), '/', 1) from step
	where starts_with(name, $1) and strpos(substr(name, length($1) + 1), '/') > 0`

// Folders implements backend.Foldered.
func (b *Backend) Folders(ctx context.Context, folder string) (list []string, err error) {
	switch {
	case b.closed.Load():
		return nil, backend.ErrClosed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case folder != "":
		if err := backend.CheckName(folder); err != nil {
			return nil, err
		}
	}
	prefix := b.prefix
	if folder != "" {
		prefix += folder + "/"
	}
	err = b.read(ctx, func(p *pgdb.Pool) error {
		found, err := p.Query(ctx, sqlFolders, prefix)
		if err == nil {
			list, err = pgdb.CollectRows(found, pgdb.RowTo[string])
		}
		return err
	})
	if errors.Is(err, pgdb.ErrEmpty) {
		return nil, nil
	}
	slices.Sort(list) // "a!" is after "a", but the logs in it are before
	return list, err
}

// The folders of two levels: each step skips the logs of one source.
const sqlSources = `with recursive step (name) as (
		(select name from treeline.log where removed is null order by name limit 1)
		union all
		select (select l.name from treeline.log l where l.name >= (case
				when split_part(step.name, '/', 3) = '' then step.name || chr(1)
				else split_part(step.name, '/', 1) || '/' || split_part(step.name, '/', 2) || '0' end) collate "C"
			and l.removed is null order by l.name limit 1)
		from step where step.name is not null)
	select split_part(name, '/', 1) || '/' || split_part(name, '/', 2) from step where split_part(name, '/', 3) <> ''`

// Sources implements backend.Sourced. A view of a folder has no sources.
func (b *Backend) Sources(ctx context.Context) (list []string, err error) {
	if err := b.begin(ctx, "origin/source"); err != nil {
		return nil, err
	}
	if b.prefix != "" {
		return nil, fmt.Errorf("%s: %w: only the root of an archive has sources", b.prefix, backend.ErrName)
	}
	err = b.read(ctx, func(p *pgdb.Pool) error {
		found, err := p.Query(ctx, sqlSources)
		if err == nil {
			list, err = pgdb.CollectRows(found, pgdb.RowTo[string])
		}
		return err
	})
	if errors.Is(err, pgdb.ErrEmpty) {
		return nil, nil
	}
	return list, err
}
