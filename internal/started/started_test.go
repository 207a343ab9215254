package started

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"testing"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
)

// While a database is kept open, what is written to it stays in its log. Afterwards it is in the database, which has no log.
func TestOpen(t *testing.T) {
	t.Parallel()
	path, err := Goose(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	read := func() []byte {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	before := read()
	open, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := litefile.Write(durable.OS{}, path, litefile.Writing{})
	if err != nil {
		t.Fatal(err)
	}
	db.KeepLog() // it moves the log into the database if no program reads
	err = db.Transact(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`CREATE TABLE spade (handle TEXT)`)
		return err
	})
	err = errors.Join(err, db.Close())
	if err != nil || !bytes.Equal(read(), before) {
		t.Errorf("the database itself was written, %v", err)
	}
	if err := open.Close(); err != nil || !bytes.Contains(read(), []byte("spade")) {
		t.Errorf("what was written is not in the database, %v", err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the log is left")
	}
}
