//go:build generate

package page

// execute stands in for the generated code, which may not compile after a change of the types that it shows.
func (o *output) execute(string, view) {}
