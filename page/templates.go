package page

import "io"

// The pages are templates: the files in the folder templates, in the language of html/template. The files *_gen.go are
// the same as Go code, one for each, and the program has only these. A program with html/template keeps every exported method of every type, since a
// template could name it, and is larger by a tenth; it also has to parse the templates.
//
// The code is made by a test (compile_test.go), from the templates after html/template has escaped them: which escaper belongs to which place
// is its decision. After a change of a template, or of a type that one shows:
//
//	go test -tags generate ./page -run TestGenerated -update
//
// TestOracle compares each page with what html/template writes for the same values, hostile ones too.

// write executes a template.
func (s *Site) write(w io.Writer, name string, v view) error {
	v.Site = s
	if s.execute != nil {
		return s.execute(w, name, v)
	}
	return (&output{w: w}).write(name, v)
}
