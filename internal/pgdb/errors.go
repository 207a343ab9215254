package pgdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// lost reports whether another attempt can succeed: the connection broke, the server stops or starts, or it aborted the transaction because
// of another one.
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

// unreachable is the error for a server that does not answer. The driver's text has a line for each way that it tried; unreachable has each
// different line once.
type unreachable struct{ error }

// Error is one line.
func (e unreachable) Error() string {
	var ways []string
	for i, line := range strings.Split(e.error.Error(), "\n") {
		if line = strings.TrimSpace(line); i > 0 && line != "" && !slices.Contains(ways, line) {
			ways = append(ways, line)
		}
	}
	text := strings.Join(ways, "; ")
	if text == "" {
		text = e.error.Error()
	}
	return "the server cannot be reached: " + text
}

// Unwrap returns the driver's error.
func (e unreachable) Unwrap() error { return e.error }

// refused is the error for a connection that the server refuses. The driver's own text has a line for each way that it tried, with and
// without TLS.
type refused struct {
	text string
	error
}

// Error is one line.
func (e refused) Error() string { return e.text }

// Unwrap returns the driver's error.
func (e refused) Unwrap() error { return e.error }

// plain translates an error of the database for a caller.
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
		var connect *pgconn.ConnectError
		if errors.As(err, &connect) {
			return unreachable{err}
		}
		return err
	}
	switch pg.Code {
	case "25006":
		return fmt.Errorf("%w: %s", ErrReadOnly, pg.Message)
	case "28P01", "28000":
		return refused{fmt.Sprintf("the server refuses the user %q or its password: %s", d.config.User, pg.Message), err}
	case "3D000":
		return refused{fmt.Sprintf("the server has no database %q", d.config.Database), err}
	case "42501":
		return fmt.Errorf("the user %q lacks a right in the database: %w", d.config.User, err)
	}
	return err
}
