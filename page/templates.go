package page

import "io"

// The pages are templates: the files in the folder templates, in the language of html/template. The files *_gen.go are the same as Go code,
// one for each template, and the program contains only these. A program with html/template keeps every exported method of every type, since
// a template could call it, and is a tenth larger; it also has to parse the templates.
//
// A test (compile_test.go) generates the code from the templates after html/template has escaped them, so html/template decides which
// escaper is used where. After a change of a template, or of a type that one shows:
//
//	go test -tags generate ./page -run TestGenerated -update
//
// TestOracle compares each page with the output of html/template for the same values, including hostile ones.

// write executes a template.
func (s *Site) write(w io.Writer, name string, v view) error {
	v.Site = s
	if s.execute != nil {
		return s.execute(w, name, v)
	}
	return (&output{w: w}).write(name, v)
}
