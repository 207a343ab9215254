package pgdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// lost reports whether another attempt can succeed: the connection broke, the server stops or starts, or it aborted the
// transaction because of another one.
func lost(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "57P01", "57P02", "57P03", // the server stops, has crashed, or starts
			"53300",          // too many connections
			"40001", "40P01": // serialization, deadlock
			return true
		}
		return len(pg.Code) >= 2 && pg.Code[:2] == "08" // connection exceptions; pgbouncer's own errors are of this class
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// plain says what an error of the database means for a caller.
func (d *DB) plain(ctx context.Context, err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case d.ctx.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &pg):
		return err
	}
	switch pg.Code {
	case "25006":
		return fmt.Errorf("%w: %s", ErrReadOnly, pg.Message)
	case "28P01", "28000":
		return fmt.Errorf("the server refuses the user %q or its password: %w", d.config.ConnConfig.User, err)
	case "3D000":
		return fmt.Errorf("the server has no database %q: %w", d.config.ConnConfig.Database, err)
	case "42501":
		return fmt.Errorf("the user %q lacks a right in the database: %w", d.config.ConnConfig.User, err)
	}
	return err
}
