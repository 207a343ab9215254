package litefile

import (
	"errors"

	"modernc.org/sqlite" // the driver "sqlite"
)

// The result codes of SQLite that mean something to us.
// They are numbers of SQLite's documentation that never change; extended codes have them in their low byte.
const (
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeCorrupt  = 11
	codeCantOpen = 14
	codeProtocol = 15
	codeNotADB   = 26
)

// resultCode is SQLite's code in an error, 0 where it is of another kind.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff // the rest says more precisely what
	}
	return 0
}

// IsSQLite says that an error is one of SQLite's, which do not name the file.
func IsSQLite(err error) bool { return resultCode(err) != 0 }

// IsCorrupt says that the file is no database, or a damaged one.
func IsCorrupt(err error) bool {
	code := resultCode(err)
	return code == codeCorrupt || code == codeNotADB
}

// IsUnwritable says that the database, or the folder that it is in, cannot be written.
func IsUnwritable(err error) bool {
	code := resultCode(err)
	return code == codeReadOnly || code == codeCantOpen
}

// IsBusy says that others had the database, or were faster too often.
func IsBusy(err error) bool {
	code := resultCode(err)
	return code == codeBusy || code == codeLocked || code == codeProtocol
}
