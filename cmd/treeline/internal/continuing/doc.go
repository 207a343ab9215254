// Package continuing has the commands below "Continue:" in the help: resume, convert, fork.
package continuing
