package clients

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// snake converts a name to Python's style. An abbreviation is one word: appendMCPTool becomes append_mcp_tool. A keyword gets an
// underscore.
func snake(name string) string {
	var b strings.Builder
	upper := func(i int) bool { return i >= len(name) || unicode.IsUpper(rune(name[i])) }
	for i, r := range name {
		if i > 0 && upper(i) && !(upper(i-1) && upper(i+1)) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if slices.Contains([]string{"in", "from", "class", "is", "not", "with"}, b.String()) {
		b.WriteByte('_')
	}
	return b.String()
}

// hint returns the type hint of a schema.
func (s *schema) hint() string {
	switch {
	case s.Ref != "":
		return s.name()
	case s.AnyOf != nil:
		var list []string
		for _, one := range s.AnyOf {
			list = append(list, one.hint())
		}
		if len(list) == 2 && list[1] == "None" {
			return "Optional[" + list[0] + "]"
		}
		return "Union[" + strings.Join(list, ", ") + "]"
	case s.Items != nil:
		return "List[" + s.Items.hint() + "]"
	case s.Additional != nil:
		return "Dict[str, " + s.Additional.hint() + "]"
	}
	return map[string]string{
		"": "Any", "null": "None", "string": "str", "boolean": "bool", "integer": "int", "number": "float", "object": "Dict[str, Any]",
	}[s.Type]
}

// python returns the generated parts of the Python module.
func (d document) python() map[string]string {
	parts := map[string]string{
		"client":  "class _ClientMethods(_Caller):\n" + d.pythonMethods(false),
		"session": "class _SessionMethods(_Caller):\n" + d.pythonMethods(true),
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		b.WriteString(d.Components.Schemas[name].typedDict(name))
	}
	// Python's style guide requires two blank lines between classes.
	parts["shapes"] = strings.TrimLeft(strings.ReplaceAll(b.String(), "\n\n\n\n", "\n\n"), "\n") + "\n"
	return parts
}

// typedDict declares a type. Optional members are in a class of their own, because NotRequired needs Python 3.11.
func (s *schema) typedDict(name string) string {
	if s.Properties == nil {
		return fmt.Sprintf("%s = Dict[str, Any]\n", name)
	}
	var needed, optional strings.Builder
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		into := &optional
		if slices.Contains(s.Required, member) {
			into = &needed
		}
		fmt.Fprintf(into, "    %s: %s\n", member, s.Properties[member].hint())
	}
	switch {
	case optional.Len() == 0:
		return fmt.Sprintf("\n\nclass %s(TypedDict):\n%s", name, needed.String()) + "\n\n"
	case needed.Len() == 0:
		return fmt.Sprintf("\n\nclass %s(TypedDict, total=False):\n%s", name, optional.String()) + "\n\n"
	}
	return fmt.Sprintf("\n\nclass _%s(TypedDict):\n%s\n\nclass %s(_%s, total=False):\n%s", name, needed.String(), name, name, optional.String()) + "\n\n"
}

func (d document) pythonMethods(session bool) string {
	var b strings.Builder
	for i := range d.Methods {
		m := &d.Methods[i]
		params, onSession, onClient := m.split()
		if session && !onSession || !session && !onClient {
			continue
		}
		d.pythonMethod(&b, m, params, "")
		if rows := d.rows(m); rows != "" {
			d.pythonMethod(&b, m, params, rows)
		}
	}
	return b.String() + "\n\n"
}

// pythonMethod writes a method or, with rows, the iterator over the rows of all pages.
func (d document) pythonMethod(b *strings.Builder, m *method, params []param, rows string) {
	name, result := snake(m.own()), m.Result.Schema.hint()
	doc := m.sentences()
	if rows != "" {
		name = "iter_" + name
		page := d.Components.Schemas[m.Result.Schema.name()]
		result = "Iterator[" + page.Properties[rows].Items.hint() + "]"
		doc = "All " + rows + " of " + m.Name + ", page by page."
		params = slices.DeleteFunc(slices.Clone(params), func(p param) bool { return p.Name == "cursor" })
	}
	if result == "Opened" {
		result = "Session"
	}
	signature, object, needed := []string{"self"}, []string{}, []string{}
	for _, p := range params {
		if !p.Required && !slices.Contains(signature, "*") {
			signature = append(signature, "*")
		}
		hint := p.Schema.hint()
		switch {
		case p.Required:
			signature = append(signature, snake(p.Name)+": "+hint)
			needed = append(needed, fmt.Sprintf("%q", p.Name))
		case p.Schema.any():
			signature = append(signature, snake(p.Name)+": "+hint+" = UNSET")
			needed = append(needed, fmt.Sprintf("%q", p.Name))
		default:
			signature = append(signature, snake(p.Name)+": "+hint+" = None")
		}
		object = append(object, fmt.Sprintf("%q: %s", p.Name, snake(p.Name)))
	}
	timed := name != "close" // Session.close is written by hand
	if timed {
		if !slices.Contains(signature, "*") {
			signature = append(signature, "*")
		}
		signature = append(signature, "timeout: Optional[float] = None")
	}
	b.WriteString(bracket("    def "+name+"(", signature, ") -> "+result+":") + "\n")
	docs := wrap(`"""`+doc+`"""`, "        ")
	for _, p := range params {
		if p.Description != "" && rows == "" {
			if docs[len(docs)-1] == strings.TrimSuffix(docs[len(docs)-1], `"""`)+`"""` {
				docs[len(docs)-1] = strings.TrimSuffix(docs[len(docs)-1], `"""`)
				docs = append(docs, "")
			}
			docs = append(docs, wrap(snake(p.Name)+": "+strings.ReplaceAll(p.Description, `"`, `'`), "        ")...)
		}
	}
	if last := docs[len(docs)-1]; !strings.HasSuffix(last, `"""`) {
		docs = append(docs, `        """`)
	}
	b.WriteString(strings.Join(docs, "\n") + "\n")
	arguments := []string{fmt.Sprintf("%q", m.Name)}
	if rows != "" {
		arguments = append(arguments, fmt.Sprintf("%q", rows))
	}
	arguments = append(arguments, "{"+strings.Join(object, ", ")+"}")
	if len(needed) > 0 {
		arguments = append(arguments, "("+strings.Join(needed, ", ")+",)")
	}
	if timed {
		arguments = append(arguments, "timeout=timeout")
	}
	before, after := "        return self._call(", ")"
	switch {
	case rows != "":
		before = "        return self._pages("
	case result == "Session":
		before, after = "        return self._opened(self._call(", "))"
	}
	b.WriteString(bracket(before, arguments, after) + "\n\n")
}

// bracket writes a list in brackets on one line or, if that is too long, with an element on each line.
func bracket(before string, list []string, after string) string {
	line := before + strings.Join(list, ", ") + after
	if len(line) <= 120 {
		return line
	}
	indent := strings.Repeat(" ", len(before)-len(strings.TrimLeft(before, " ")))
	return before + "\n" + indent + "    " + strings.Join(list, ",\n"+indent+"    ") + ",\n" + indent + after
}
