//go:build generate

package page

// execute replaces the generated code, which may not compile after a change of the types that it shows.
func (o *output) execute(string, view) {}
