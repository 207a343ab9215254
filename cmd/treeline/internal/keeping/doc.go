// Package keeping has the commands below "Keep:" in the help: check, repair, rm, gc.
package keeping
