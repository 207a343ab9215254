// Package sharing has the commands below "Share:" in the help: export, push, pull, token.
package sharing
