// Package man writes the manual pages of a program from its cobra commands: one page for each, in the man macros that groff and
// mandoc know. The program itself does not link it; a test of cmd/treeline calls it (make dist).
package man

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// About is the text of the head and the foot of each page.
type About struct {
	Version string
	Date    time.Time
}

// Write writes the pages of a command and of all below it into a folder, as NAME.1.
func Write(dir string, cmd *cobra.Command, about About) error {
	if err := os.WriteFile(filepath.Join(dir, name(cmd)+".1"), Page(cmd, about), 0o644); err != nil {
		return err
	}
	for _, c := range listed(cmd) {
		if err := Write(dir, c, about); err != nil {
			return err
		}
	}
	return nil
}

// name returns the name of the page: treeline-run-show.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// listed returns the commands below one that are not hidden.
func listed(cmd *cobra.Command) (list []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			list = append(list, c)
		}
	}
	return list
}

// Page returns the page of one command.
func Page(cmd *cobra.Command, about About) []byte {
	cmd.InitDefaultHelpFlag()
	p := &page{}
	p.macro("TH", strings.ToUpper(name(cmd)), "1", about.Date.UTC().Format("2006-01-02"), cmd.Root().Name()+" "+about.Version, cmd.Root().Name()+" manual")
	p.section("Name")
	p.line(name(cmd) + ` \- ` + escape(strings.ToLower(cmd.Short[:1])+cmd.Short[1:]))
	p.section("Synopsis")
	p.synopsis(cmd)
	p.section("Description")
	p.text(cmp.Or(cmd.Long, cmd.Short+"."))
	p.commands(cmd)
	p.flags("Options", cmd.NonInheritedFlags())
	p.flags("Options of every command", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.section("Examples")
		p.verbatim(strings.Split(strings.Trim(cmd.Example, "\n"), "\n"))
	}
	if !cmd.HasParent() {
		p.exits()
	}
	p.also(cmd)
	return p.Bytes()
}

// page is a page that is written from top to bottom.
type page struct{ bytes.Buffer }

// line writes text that is escaped already. It protects a line that begins like a macro.
func (p *page) line(text string) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	p.WriteString(text + "\n")
}

// macro writes a macro with its arguments.
func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, a := range args {
		p.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

func (p *page) section(title string) { p.macro("SH", strings.ToUpper(title)) }

// verbatim keeps lines as they are.
func (p *page) verbatim(lines []string) {
	p.macro("nf")
	for _, l := range lines {
		p.line(escape(l))
	}
	p.macro("fi")
}

// text writes paragraphs. Indented lines, such as tables and commands, keep their shape.
func (p *page) text(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			p.macro("PP")
		}
		lines := strings.Split(paragraph, "\n")
		for len(lines) > 0 {
			n := 0
			for n < len(lines) && strings.HasPrefix(lines[n], " ") {
				n++
			}
			if n > 0 {
				p.verbatim(lines[:n])
				lines = lines[n:]
				continue
			}
			p.line(escape(lines[0]))
			lines = lines[1:]
		}
	}
}

// synopsis writes the words of the command line in bold, and the rest as in its usage.
func (p *page) synopsis(cmd *cobra.Command) {
	own := len(strings.Fields(cmd.CommandPath()))
	words := strings.Fields(cmd.UseLine())
	p.line(`\fB` + escape(strings.Join(words[:own], " ")) + `\fR ` + escape(strings.Join(words[own:], " ")))
	if len(listed(cmd)) > 0 {
		p.macro("br")
		p.line(`\fB` + escape(cmd.CommandPath()) + `\fR ` + escape("command [flags]"))
	}
}

// commands lists the commands below cmd, in the groups of its help.
func (p *page) commands(cmd *cobra.Command) {
	all := listed(cmd)
	if len(all) == 0 {
		return
	}
	p.section("Commands")
	print := func(group string) {
		for _, c := range all {
			if c.GroupID == group {
				p.macro("TP")
				p.line(`\fB` + escape(name(c)) + `\fR(1)`)
				p.line(escape(c.Short))
			}
		}
	}
	for _, g := range cmd.Groups() {
		p.macro("SS", strings.TrimSuffix(g.Title, ":"))
		print(g.ID)
	}
	print("")
}

// flags writes a section with an item for each flag.
func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		item := `\fB` + escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			item = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + item
		}
		if value != "" {
			item += ` \fI` + escape(value) + `\fR`
		}
		p.macro("TP")
		p.line(item)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		p.line(escape(usage))
	})
}

// exits writes the exit codes, only on the page of the program.
func (p *page) exits() {
	p.section("Exit status")
	for _, e := range [][2]string{
		{"0", "Success."}, {"1", "A problem, or the answer is no: nothing was found, a check found something."}, {"2", "A mistake in the command line."},
	} {
		p.macro("TP")
		p.line(`\fB` + e[0] + `\fR`)
		p.line(e[1])
	}
}

// also writes the names of related pages.
func (p *page) also(cmd *cobra.Command) {
	if !cmd.HasParent() {
		return // its commands are listed above
	}
	names := []string{`\fB` + escape(name(cmd.Parent())) + `\fR(1)`}
	for _, c := range listed(cmd.Parent()) {
		if c != cmd && c.GroupID == cmd.GroupID {
			names = append(names, `\fB`+escape(name(c))+`\fR(1)`)
		}
	}
	p.section("See also")
	p.line(strings.Join(names, ", "))
}

// escape makes text harmless to roff, in ASCII.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString("\\(ga")
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
