package litefile

import (
	"errors"
	"slices"

	"modernc.org/sqlite" // the driver "sqlite"
)

// Result codes of SQLite. They never change; extended codes have them in their low byte.
const (
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeCorrupt  = 11
	codeCantOpen = 14
	codeProtocol = 15
	codeNotADB   = 26
)

// resultCode returns SQLite's code of an error, or 0 for any other error.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func hasCode(err error, codes ...int) bool { return slices.Contains(codes, resultCode(err)) }

// IsSQLite reports whether an error is from SQLite. Such errors do not name the file.
func IsSQLite(err error) bool { return resultCode(err) != 0 }

// IsCorrupt reports whether the file is not a database, or is damaged.
func IsCorrupt(err error) bool { return hasCode(err, codeCorrupt, codeNotADB) }

// IsUnwritable reports whether the database, or its folder, cannot be written.
func IsUnwritable(err error) bool { return hasCode(err, codeReadOnly, codeCantOpen) }

// IsBusy reports whether another connection held the database for too long.
func IsBusy(err error) bool { return hasCode(err, codeBusy, codeLocked, codeProtocol) }
