// Package writing has the commands below "Write:" in the help: new, append, branch, label, rename, move.
package writing
