// Package programs has the commands below "For programs and agents:" in the help: mcp, rpc, run.
package programs
