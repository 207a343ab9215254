package page

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"html/template"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template/parse"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

var update = flag.Bool("update", false, "write the generated files")

// entrances are the templates that a Site executes, with the type of view.Page for each.
var entrances = map[string]reflect.Type{
	"sessions.html": reflect.TypeFor[*sessionsView](),
	"session.html":  reflect.TypeFor[*sessionView](),
	"fragment":      reflect.TypeFor[*sessionView](),
	"raw.html":      reflect.TypeFor[*rawView](),
	"search.html":   reflect.TypeFor[*SearchPage](),
	"hits":          reflect.TypeFor[*SearchPage](),
	"runs.html":     reflect.TypeFor[RunsPage](),
	"run.html":      reflect.TypeFor[*runView](),
	"usage.html":    reflect.TypeFor[*usageView](),
	"error.html":    reflect.TypeFor[ErrorPage](),
	"login.html":    reflect.TypeFor[LoginPage](),
}

// funcs are the functions of the templates that need no Site. Generated code calls them by these names, except those in spelled.
var funcs = template.FuncMap{
	"plain": plain, "line": screen.OneLine, "clean": screen.Clean,
	"number": wire.Number, "count": wire.Count, "size": wire.Size, "tokens": wire.Short, "dollars": wire.Dollars, "cost": cost,
	"anchor": Anchor, "element": elementID, "short": shortID,
	"int64": func(n int) int64 { return int64(n) },
	"next":  next, "beyond": beyond,
	"first": first[session.Problem], "firstTexts": first[string],
}

var spelled = map[string]string{
	"line": "screen.OneLine", "tokens": "wire.Short", "dollars": "wire.Dollars", "clean": "screen.Clean", "number": "wire.Number", "count": "wire.Count", "size": "wire.Size",
	"anchor": "Anchor", "element": "elementID", "short": "shortID", "firstTexts": "first",
}

// templates returns the templates after html/template has escaped them.
var templates = sync.OnceValue(func() *template.Template {
	set := template.Must(template.New("").Funcs(funcs).ParseFS(os.DirFS("templates"), "*.html"))
	for name := range entrances {
		_ = set.ExecuteTemplate(io.Discard, name, nil) // the values are wrong, but the first execution escapes the template
	}
	return set
})

// ByTemplates returns the site with pages that html/template writes.
func (s Site) ByTemplates() *Site {
	s.execute = func(w io.Writer, name string, v view) error { return templates().ExecuteTemplate(w, name, v) }
	return &s
}

// EscapeText returns a text as a page writes it.
func EscapeText(s string) string { return string((&output{}).text(s).buf) }

// EscapeLink returns an address that may come from a log as a page writes it.
func EscapeLink(s string) string { return string((&output{}).link(s).buf) }

// EscapeAddress returns an address whose scheme is trusted as a page writes it.
func EscapeAddress(s string) string { return string((&output{}).address(s).buf) }

// TestGenerated: the generated files match the templates, one file for each template file.
func TestGenerated(t *testing.T) {
	want := generate(t)
	have, err := filepath.Glob("*_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range have {
		switch _, ok := want[name]; {
		case ok:
		case !*update:
			t.Errorf("%s belongs to no file of templates; want it removed", name)
		default:
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, code := range want {
		if *update {
			if err := os.WriteFile(name, code, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := difftest.Diff(string(bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n"))), string(code)); diff != "" {
			t.Errorf("%s is not what the templates say; run go test -tags generate ./page -run TestGenerated -update\n%s", name, diff)
		}
	}
}

// generate returns the code of all templates by file name: session_gen.go has the functions of session.html.
func generate(t *testing.T) map[string][]byte {
	c := &compiler{t: t, set: templates(), funcs: map[string]string{}, files: map[string]string{}, types: map[string][2]reflect.Type{}}
	bodies := map[string]*bytes.Buffer{}
	body := func(file string) *bytes.Buffer {
		name := strings.TrimSuffix(file, ".html") + "_gen.go"
		if bodies[name] == nil {
			bodies[name] = new(bytes.Buffer)
		}
		return bodies[name]
	}
	all := body("execute")
	all.WriteString("// execute writes the page of a template.\nfunc (o *output) execute(name string, v view) {\nswitch name {\n")
	for _, name := range slices.Sorted(maps.Keys(entrances)) {
		fmt.Fprintf(all, "case %q:\no.%s(v)\n", name, c.function(name, value{typ: reflect.TypeFor[view](), page: entrances[name]}))
	}
	all.WriteString("default:\npanic(\"no template \" + name)\n}\n}\n")
	for _, name := range slices.Sorted(maps.Keys(c.funcs)) {
		body(c.files[name]).WriteString("\n" + c.funcs[name])
	}
	files := map[string][]byte{}
	for name, body := range bodies {
		files[name] = finish(t, body.Bytes())
	}
	return files
}

// finish makes a Go file from functions.
func finish(t *testing.T, body []byte) []byte {
	var head bytes.Buffer
	head.WriteString("// Code generated by go test -tags generate ./page -run TestGenerated -update; DO NOT EDIT.\n\n//go:build !generate\n\npackage page\n\n")
	var imports []string
	for _, p := range []string{"internal/screen", "session", "transcript", "wire"} {
		if regexp.MustCompile(`\b` + path.Base(p) + `\.[A-Z]`).Match(body) {
			imports = append(imports, strconv.Quote("github.com/treeline-dev/treeline/"+p))
		}
	}
	if len(imports) > 0 {
		fmt.Fprintf(&head, "import (\n%s\n)\n", strings.Join(imports, "\n"))
	}
	code, err := format.Source(append(append(head.Bytes(), '\n'), body...))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return code
}

// compiler translates templates to functions. It supports the parts of the language that our templates use, and refuses all others.
type compiler struct {
	t     *testing.T
	set   *template.Template
	funcs map[string]string          // code by the name of the function
	files map[string]string          // the file of each function's template
	types map[string][2]reflect.Type // the types of its dot and, if that is a view, of the page
	vars  int
}

// value is a Go expression and its type; nil for a constant. page is the type of view.Page if the value is a view.
type value struct {
	expr string
	typ  reflect.Type
	page reflect.Type
}

// scope has the values that a node can refer to: the dot, and variables by their names with "$".
type scope struct {
	dot  value
	vars map[string]value
}

func (s scope) with(dot value) scope { return scope{dot, maps.Clone(s.vars)} }

func (c *compiler) refuse(n parse.Node, why string) {
	c.t.Helper()
	c.t.Fatalf("the compiler of the templates does not know %q: %s", n, why)
}

var notName = regexp.MustCompile(`[^A-Za-z0-9]+(.?)`)

// function returns the name of a template's function. Its dot has the same type wherever it is executed. It either knows the page's type of
// a view or does not use the page.
func (c *compiler) function(name string, dot value) string {
	ident := notName.ReplaceAllStringFunc("write "+name, func(s string) string { return strings.ToUpper(notName.FindStringSubmatch(s)[1]) })
	if dot.page != nil && !c.mentionsPage(name, map[string]bool{}) {
		dot.page = nil
	}
	types := [2]reflect.Type{dot.typ, dot.page}
	if before, ok := c.types[ident]; ok {
		if before != types {
			c.t.Fatalf("template %q is executed with %v and with %v", name, before, types)
		}
		return ident
	}
	c.types[ident] = types
	outer := c.vars
	c.vars = 0
	arg := value{expr: "d", typ: dot.typ, page: dot.page}
	code := c.list(c.set.Lookup(name).Tree.Root, scope{arg, map[string]value{"$": arg}})
	c.vars = outer
	if last := strings.LastIndex(strings.TrimSuffix(code, "\n"), "\n") + 1; strings.HasPrefix(code[last:], "o.") {
		code = code[:last] + "return " + code[last:]
	} else {
		code += "return o\n"
	}
	c.files[ident] = c.set.Lookup(name).Tree.ParseName
	c.funcs[ident] = fmt.Sprintf("func (o *output) %s(d %s) *output {\n%s}\n", ident, typeName(dot.typ), code)
	return ident
}

// mentionsPage reports whether a template uses the Page of its dot, either itself or in a template that it passes the dot to.
func (c *compiler) mentionsPage(name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	text := c.set.Lookup(name).Tree.Root.String()
	if regexp.MustCompile(`[ ($]\.Page\b|\{\.Page\b`).MatchString(text) {
		return true
	}
	for _, m := range regexp.MustCompile(`\{\{template "([^"]+)" [.$]\}\}`).FindAllStringSubmatch(text, -1) {
		if c.mentionsPage(m[1], seen) {
			return true
		}
	}
	return false
}

// typeName returns the name of a type within this package.
func typeName(t reflect.Type) string { return strings.ReplaceAll(t.String(), "page.", "") }

// list returns the statements for a list of nodes.
func (c *compiler) list(l *parse.ListNode, s scope) string {
	if l == nil {
		return ""
	}
	var b strings.Builder
	for i, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			c.chain(&b, "raw("+quote(string(n.Text))+")")
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				c.chain(&b, c.action(n, s))
				continue
			}
			// The rest of the list may use the variable.
			v := c.pipe(n.Pipe, s)
			name := c.fresh()
			s = s.with(s.dot)
			s.vars[n.Pipe.Decl[0].Ident[0]] = value{name, v.typ, v.page}
			rest := c.list(&parse.ListNode{Nodes: l.Nodes[i+1:]}, s)
			fmt.Fprintf(&b, "%s := %s\n%s", name, v.expr, rest)
			return b.String()
		case *parse.IfNode:
			b.WriteString(c.branch(c.truth(c.pipe(n.Pipe, s)), "", c.list(n.List, s.with(s.dot)), c.list(n.ElseList, s.with(s.dot)), alone(n.ElseList)))
		case *parse.WithNode:
			v := c.pipe(n.Pipe, s)
			dot := value{c.fresh(), v.typ, v.page}
			b.WriteString(c.branch(c.truth(dot), dot.expr+" := "+v.expr, c.list(n.List, s.with(dot)), c.list(n.ElseList, s.with(s.dot)), alone(n.ElseList)))
		case *parse.RangeNode:
			b.WriteString(c.loop(n, s))
		case *parse.TemplateNode:
			v := c.pipe(n.Pipe, s)
			if v.typ == nil {
				v.typ = reflect.TypeFor[string]() // a constant
			}
			v = pointee(v, reflect.TypeFor[string]())
			c.chain(&b, c.function(n.Name, v)+"("+v.expr+")")
		default:
			c.refuse(n, "no such statement")
		}
	}
	return b.String()
}

// chain adds a call to the statements. Consecutive calls are one statement, so that a template and its code have about the same length.
func (c *compiler) chain(b *strings.Builder, call string) {
	code := b.String()
	last := code[strings.LastIndex(strings.TrimSuffix(code, "\n"), "\n")+1:]
	if strings.HasPrefix(last, "o.") && len(last)+len(call) < 240 {
		b.Reset()
		b.WriteString(strings.TrimSuffix(code, "\n"))
		fmt.Fprintf(b, ".%s\n", call)
		return
	}
	fmt.Fprintf(b, "o.%s\n", call)
}

// quote formats a text as a Go string on one line.
func quote(s string) string {
	if strconv.CanBackquote(s) && !strings.Contains(s, "\n") {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// alone reports whether a list is a single statement.
func alone(l *parse.ListNode) bool { return l != nil && len(l.Nodes) == 1 }

// branch returns a statement that executes one of two lists. The list for a true condition may use what declare declares. chained means
// that the other list is a single statement.
func (c *compiler) branch(condition, declare, then, otherwise string, chained bool) string {
	if name, _, ok := strings.Cut(declare, " "); ok && !regexp.MustCompile(`\b`+name+`\b`).MatchString(condition+then) {
		declare = ""
	}
	var b strings.Builder
	switch {
	case condition == "true" && declare == "":
		return then
	case condition == "true":
		return "{\n" + declare + "\n" + then + "}\n"
	case declare != "":
		fmt.Fprintf(&b, "if %s; %s {\n%s}", declare, condition, then)
	default:
		fmt.Fprintf(&b, "if %s {\n%s}", condition, then)
	}
	switch {
	case strings.HasPrefix(otherwise, "if ") && chained:
		b.WriteString(" else " + strings.TrimSuffix(otherwise, "\n"))
	case otherwise != "":
		fmt.Fprintf(&b, " else {\n%s}", otherwise)
	}
	return b.String() + "\n"
}

// loop returns a loop over a slice.
func (c *compiler) loop(n *parse.RangeNode, s scope) string {
	list := c.pipe(&parse.PipeNode{Cmds: n.Pipe.Cmds}, s)
	if list.typ.Kind() != reflect.Slice {
		c.refuse(n, "a loop over "+list.typ.String())
	}
	name, index, item := c.fresh(), c.fresh(), value{c.fresh(), list.typ.Elem(), nil}
	inner := s.with(item)
	if d := n.Pipe.Decl; len(d) == 2 {
		inner.vars[d[0].Ident[0]] = value{index, reflect.TypeFor[int](), nil}
		inner.vars[d[1].Ident[0]] = item
	} else if len(d) == 1 {
		inner.vars[d[0].Ident[0]] = item
	}
	body := c.list(n.List, inner)
	if !regexp.MustCompile(`\b` + index + `\b`).MatchString(body) {
		index = "_"
	}
	from, declare := list.expr, ""
	otherwise := c.list(n.ElseList, s)
	if otherwise != "" {
		from, declare = name, name+" := "+list.expr+"\n"
	}
	code := fmt.Sprintf("%sfor %s, %s := range %s {\n%s}\n", declare, index, item.expr, from, body)
	if otherwise != "" {
		code += fmt.Sprintf("if len(%s) == 0 {\n%s}\n", name, otherwise)
	}
	return code
}

func (c *compiler) fresh() string {
	c.vars++
	return "d" + strconv.Itoa(c.vars)
}

// action returns the call that writes a value with the escapers that html/template has added.
func (c *compiler) action(n *parse.ActionNode, s scope) string {
	at := slices.IndexFunc(n.Pipe.Cmds, func(cmd *parse.CommandNode) bool { return strings.HasPrefix(cmd.String(), "_html_template_") })
	if at < 0 {
		c.refuse(n, "it is not escaped")
	}
	var escapers []string
	for _, cmd := range n.Pipe.Cmds[at:] {
		escapers = append(escapers, strings.TrimPrefix(cmd.String(), "_html_template_"))
	}
	v := c.pipe(&parse.PipeNode{Cmds: n.Pipe.Cmds[:at]}, s)
	switch escaper := strings.Join(escapers, " "); {
	case escaper == "htmlescaper" && v.typ == reflect.TypeFor[template.HTML](),
		escaper == "cssvaluefilter" && v.typ == reflect.TypeFor[template.CSS](),
		escaper == "jsvalescaper" && v.typ == reflect.TypeFor[template.JS]():
		return "raw(string(" + v.expr + "))"
	case strings.HasPrefix(v.typ.PkgPath(), "html/template") && v.typ != reflect.TypeFor[template.URL]():
		c.refuse(n, "a trusted value of another kind")
	case escaper == "urlfilter urlnormalizer attrescaper" && v.typ == reflect.TypeFor[template.URL]():
		return "address(string(" + v.expr + "))"
	case escaper == "urlfilter urlnormalizer attrescaper":
		return "link(" + c.asString(n, v) + ")"
	case escaper == "htmlescaper" || escaper == "attrescaper" || escaper == "rcdataescaper":
		if k := v.typ.Kind(); k >= reflect.Int && k <= reflect.Int64 && v.typ.NumMethod() == 0 {
			return "number(" + convert(v, "int64", reflect.Int64) + ")"
		}
		return "text(" + c.asString(n, v) + ")"
	}
	c.refuse(n, "no such escaper")
	return ""
}

// pointee dereferences a pointer if its target's type is wanted.
func pointee(v value, want reflect.Type) value {
	if v.typ != nil && v.typ.Kind() == reflect.Pointer && v.typ.Elem() == want {
		return value{expr: "*" + v.expr, typ: want}
	}
	return v
}

// asString returns the text that html/template shows for a value.
func (c *compiler) asString(n parse.Node, v value) string {
	if v.typ.Kind() != reflect.String || v.typ.NumMethod() != 0 && v.typ.Implements(reflect.TypeFor[fmt.Stringer]()) {
		c.refuse(n, "the text of a value of type "+v.typ.String())
	}
	return convert(v, "string", reflect.String)
}

// convert converts a value to a basic type.
func convert(v value, name string, kind reflect.Kind) string {
	if v.typ.Kind() == kind && v.typ.PkgPath() == "" {
		return v.expr
	}
	return name + "(" + v.expr + ")"
}

// truth returns the condition that a value is not empty.
func (c *compiler) truth(v value) string {
	switch k := v.typ.Kind(); {
	case k == reflect.Bool:
		return v.expr
	case k == reflect.String:
		return v.expr + ` != ""`
	case k >= reflect.Int && k <= reflect.Float64:
		return v.expr + " != 0"
	case k == reflect.Slice || k == reflect.Map:
		return "len(" + v.expr + ") != 0"
	case k == reflect.Pointer || k == reflect.Func:
		return v.expr + " != nil"
	case k == reflect.Struct:
		return "true"
	}
	c.t.Fatalf("the compiler of the templates does not know when %s, a %s, is empty", v.expr, v.typ)
	return ""
}

// pipe returns the value of a pipeline of one command.
func (c *compiler) pipe(p *parse.PipeNode, s scope) value {
	if len(p.Cmds) != 1 {
		c.refuse(p, "a pipeline")
	}
	args := p.Cmds[0].Args
	if id, ok := args[0].(*parse.IdentifierNode); ok {
		return c.call(id, args[1:], s)
	}
	return c.operand(args[0], args[1:], s)
}

// operand returns the value of a node. args are those of the method that it names last.
func (c *compiler) operand(n parse.Node, args []parse.Node, s scope) value {
	switch n := n.(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.FieldNode:
		return c.members(n, s.dot, n.Ident, args, s)
	case *parse.VariableNode:
		v, ok := s.vars[n.Ident[0]]
		if !ok {
			c.refuse(n, "no such variable")
		}
		return c.members(n, v, n.Ident[1:], args, s)
	case *parse.PipeNode:
		return c.pipe(n, s)
	case *parse.StringNode:
		return value{expr: n.Quoted}
	case *parse.NumberNode:
		return value{expr: n.Text}
	}
	c.refuse(n, "no such value")
	return value{}
}

// members resolves the names of fields and methods.
func (c *compiler) members(n parse.Node, v value, names []string, args []parse.Node, s scope) value {
	for i, name := range names {
		if v.typ == reflect.TypeFor[view]() && name == "Page" {
			v = value{expr: v.expr + ".Page.(" + typeName(v.page) + ")", typ: v.page}
			continue
		}
		m, ok := v.typ.MethodByName(name)
		if !ok && v.typ.Kind() != reflect.Pointer {
			m, ok = reflect.PointerTo(v.typ).MethodByName(name)
		}
		if ok {
			var list []string
			page := v.page
			if i == len(names)-1 {
				for _, a := range args {
					of := c.operand(a, nil, s)
					if v.typ == reflect.TypeFor[view]() && name == "With" {
						if of.typ.Kind() == reflect.Pointer {
							of = pointee(of, of.typ.Elem())
						}
						page = of.typ
					}
					list = append(list, of.expr)
				}
			}
			v = value{expr: v.expr + "." + name + "(" + strings.Join(list, ", ") + ")", typ: m.Type.Out(0)}
			if v.typ == reflect.TypeFor[view]() {
				v.page = page
			}
			continue
		}
		of := v.typ
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		f, ok := of.FieldByName(name)
		if !ok {
			c.refuse(n, fmt.Sprintf("%s has no %s", v.typ, name))
		}
		v = value{expr: v.expr + "." + name, typ: f.Type}
	}
	return v
}

// call returns the value of a function.
func (c *compiler) call(id *parse.IdentifierNode, nodes []parse.Node, s scope) value {
	var args []value
	var exprs, truths []string
	for _, n := range nodes {
		v := c.operand(n, nil, s)
		args, exprs = append(args, v), append(exprs, v.expr)
		if id.Ident == "and" || id.Ident == "or" || id.Ident == "not" {
			truths = append(truths, c.truth(v))
		}
	}
	condition := func(list []string, operator string) value {
		return value{expr: "(" + strings.Join(list, operator) + ")", typ: reflect.TypeFor[bool]()}
	}
	switch id.Ident {
	case "and":
		return condition(truths, " && ")
	case "or":
		return condition(truths, " || ")
	case "not":
		return value{expr: "!(" + truths[0] + ")", typ: reflect.TypeFor[bool]()}
	case "eq":
		var list []string
		for _, e := range exprs[1:] {
			list = append(list, exprs[0]+" == "+e)
		}
		return condition(list, " || ")
	case "lt":
		return condition(exprs, " < ")
	case "ge":
		return condition(exprs, " >= ")
	case "gt":
		return condition(exprs, " > ")
	case "len":
		return value{expr: "len(" + exprs[0] + ")", typ: reflect.TypeFor[int]()}
	case "index":
		return value{expr: exprs[0] + "[" + exprs[1] + "]", typ: args[0].typ.Elem()}
	case "print":
		return value{expr: c.asString(id, args[0]), typ: reflect.TypeFor[string]()}
	}
	f, ok := funcs[id.Ident]
	if !ok {
		c.refuse(id, "no such function")
	}
	for i, a := range args {
		exprs[i] = pointee(a, reflect.TypeOf(f).In(i)).expr
	}
	name := id.Ident
	if s := spelled[name]; s != "" {
		name = s
	}
	return value{expr: name + "(" + strings.Join(exprs, ", ") + ")", typ: reflect.TypeOf(f).Out(0)}
}
