package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// table is how an agent keeps sessions in rows.
type table struct {
	// database is the file below the home. The program makes it when it is started.
	database string
	tables   func() rows.Tables
	// directory is the column of a session with its directory.
	directory string
	// own returns the nth fixture with ids of its own: the fixtures have the same ids.
	own func(log []byte, n int) []byte
}

// rowScenes returns the scenes of an agent with a database: sessions of its own, written and converted ones.
func (a agent) rowScenes(opt options) (list []scene, err error) {
	if list, err = a.ownRows(); err != nil {
		return nil, err
	}
	for i := range opt.resumes {
		if a.random == nil {
			break
		}
		seed := opt.seed + uint64(i)
		list = append(list, scene{name: fmt.Sprintf("random-%d", seed), lay: func(ctx context.Context, d *desk) (treeline.ResumeCommand, error) {
			return d.layRows(ctx, a.random(seed).Log)
		}})
	}
	for i := range opt.resumes / 4 {
		list = append(list, written(opt.seed+uint64(i)))
	}
	for i := range opt.conversions {
		list = append(list, a.converted(opt.seed+uint64(i))...)
	}
	fixtures, err := a.fixtures(opt)
	list = append(list, fixtures...)
	return slices.DeleteFunc(list, func(s scene) bool { return !opt.plays(s.name) }), err
}

// ownRows returns the scenes of sessions that the tests of the dialect read, put into the database.
func (a agent) ownRows() (list []scene, err error) {
	name := a.dialect.Name()
	files, err := filepath.Glob(filepath.Join("dialect", name, "testdata", name, "*.jsonl"))
	for i, file := range files {
		list = append(list, scene{name: "own-" + filepath.Base(file), lay: func(ctx context.Context, d *desk) (c treeline.ResumeCommand, err error) {
			log, err := os.ReadFile(file)
			if err != nil {
				return c, err
			}
			return d.layRows(ctx, d.rows.own(log, i+1))
		}})
	}
	return list, err
}

// layRows puts a session into the database. A damaged fixture cannot be a session of a database and yields no command.
func (d *desk) layRows(ctx context.Context, log []byte) (c treeline.ResumeCommand, err error) {
	t := d.rows.tables()
	var records [][]byte
	for line := range bytes.Lines(log) {
		records = append(records, bytes.TrimSuffix(line, []byte{'\n'}))
	}
	// The program requires that the directory exists.
	row := rawjson.Get(records[0], t.Session.Name)
	records[0] = rawjson.Set(records[0], t.Session.Name, rawjson.Set(row, d.rows.directory, rawjson.Quote(d.workDir)))
	id := rawjson.Str(row, t.Session.ID)
	path := filepath.Join(d.home, d.rows.database)
	b := rows.New(rows.NewDatabase(path, t, rows.Options{}), ".jsonl", false)
	defer b.Close()
	if _, err := b.Create(ctx, id+".jsonl", records...); errors.Is(err, backend.ErrRecord) || litefile.IsSQLite(err) {
		return c, nil
	} else if err != nil {
		return c, err
	}
	return treeline.ResumeCommand{Path: filepath.Join(path, id+".jsonl"), Launch: dialect.Launch{Args: append(d.resume[:len(d.resume):len(d.resume)], id)}}, nil
}

// housed gives all sessions of the database an existing directory: the program refuses others.
func (d *desk) housed(ctx context.Context) error {
	db, err := litefile.Write(durable.OS{}, filepath.Join(d.home, d.rows.database), litefile.Writing{Busy: 5 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `UPDATE `+d.rows.tables().Session.Name+` SET `+d.rows.directory+` = ?1 WHERE `+d.rows.directory+` <> ?1`, d.workDir)
	return err
}
