// Package reading has the commands below "Read:" in the help: show, tree, context, watch, serve.
package reading
