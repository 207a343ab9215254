// Package doctest reads the code blocks of Markdown documents, so that a test can run them, and compares what a command
// prints with what a document shows.
//
// The first word after the three backquotes is the language, and every block has one. The next word may say how the block is tested:
//
//	sh                       run; every command has to succeed
//	console                  run; "$ " begins a command, and the lines after it are what it prints
//	sh noexec REASON         not run, because of the REASON
//	console test server/TestX run by that test
//	text output              what the block before it prints
//
// Ids, dates and times differ from run to run. Names matches those that a document shows with those of the run: see there.
package doctest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Languages are the languages that a block may have.
var Languages = []string{"go", "sh", "console", "ts", "js", "python", "json", "toml", "text"}

// A Block is one code block of a document.
type Block struct {
	File string // the document
	Line int    // line number of its first line of code
	Lang string
	Mark Mark
	Why  string // for NoExec the reason, for Tested the test
	Text string // ends with a newline
}

// A Mark is the way in which a block is tested.
type Mark string

// The marks.
const (
	Run    Mark = ""
	NoExec Mark = "noexec"
	Tested Mark = "test"
	Output Mark = "output"
)

// String returns the place of the block.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.File, b.Line) }

// Blocks reads the blocks of a document. Each mistake in the head of a block is an error.
func Blocks(file, text string) (list []Block, errs []error) {
	var b *Block
	indent, line := "", 0
	for l := range strings.Lines(text) {
		line++
		bare := strings.TrimLeft(l, " ")
		switch fence, isFence := strings.CutPrefix(bare, "```"); {
		case isFence && b == nil:
			indent = l[:len(l)-len(bare)]
			b = &Block{File: file, Line: line + 1}
			if err := b.head(strings.TrimSpace(fence)); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %w", file, line, err))
			}
		case isFence:
			list, b = append(list, *b), nil
		case b != nil:
			b.Text += strings.TrimPrefix(l, indent)
		}
	}
	if b != nil {
		errs = append(errs, fmt.Errorf("%v: the block has no end", b))
	}
	return list, errs
}

// head parses the text after the backquotes.
func (b *Block) head(info string) error {
	lang, rest, _ := strings.Cut(info, " ")
	mark, why, _ := strings.Cut(rest, " ")
	b.Lang, b.Mark, b.Why = lang, Mark(mark), why
	switch {
	case lang == "":
		return fmt.Errorf("a code block needs a language: %s", strings.Join(Languages, ", "))
	case !slices.Contains(Languages, lang):
		return fmt.Errorf("no test knows the language %q of a code block", lang)
	case !slices.Contains([]Mark{Run, NoExec, Tested, Output}, b.Mark):
		return fmt.Errorf("a code block is marked %q; it may be %s, %s or %s", mark, NoExec, Tested, Output)
	case (b.Mark == NoExec || b.Mark == Tested) != (why != ""):
		return fmt.Errorf("a code block that is marked %s needs a reason, or the test that runs it", NoExec)
	case b.Mark == Output && lang != "text":
		return fmt.Errorf("an output is %q, not %q", "text", lang)
	}
	return nil
}

// A Command is one command of a console block, and what the document shows of its output.
type Command struct {
	Line   int
	Text   string // may have several lines that end with a backslash
	Output string
}

// Commands splits a console block.
func (b Block) Commands() (list []Command, err error) {
	line, goesOn := b.Line, false
	for l := range strings.Lines(b.Text) {
		command, begins := strings.CutPrefix(l, "$ ")
		switch {
		case goesOn:
			list[len(list)-1].Text += l
			command, begins = l, true
		case begins:
			list = append(list, Command{Line: line, Text: command})
		case len(list) == 0:
			return nil, fmt.Errorf("%s:%d: a console block begins with \"$ \" and a command", b.File, line)
		default:
			list[len(list)-1].Output += l
		}
		goesOn = begins && strings.HasSuffix(command, "\\\n")
		line++
	}
	return list, nil
}

// Treeline returns the command lines of treeline in a block of commands, each as its arguments. It skips comments and the commands that
// read treeline's output from a pipe.
func (b Block) Treeline() (list [][]string) {
	for l := range strings.Lines(strings.ReplaceAll(b.Text, "\\\n", " ")) {
		list = append(list, Treeline(strings.TrimPrefix(l, "$ "))...)
	}
	return list
}

// Treeline returns the command lines of treeline in a line for a shell, those in substitutions first.
func Treeline(line string) (list [][]string) {
	line = regexp.MustCompile(`[$<]\([^()]*\)`).ReplaceAllStringFunc(line, func(inner string) string {
		list = append(list, Treeline(inner[len("$("):len(inner)-len(")")])...)
		return "SUBSTITUTION"
	})
	words := Words(line)
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "treeline" && (i == 0 || isOperator(words[i-1]) || words[i-1] == "--" || strings.Contains(words[i-1], "=")):
		case words[i] == "./cmd/treeline" && i > 0 && words[i-1] == "run":
		default:
			continue
		}
		begin := i + 1
		for i++; i < len(words) && !isOperator(words[i]); i++ {
		}
		list = append(list, words[begin:i])
	}
	return list
}

func isOperator(word string) bool {
	return slices.Contains([]string{"|", "||", "&&", "&", ";", ">", ">>", "<", "2>"}, word)
}

// Words splits a line as a shell does, as far as documents need it: quotes, comments, and operators that stand alone. It does not
// distinguish quoted operators from others.
func Words(line string) (words []string) {
	var word strings.Builder
	var quote rune
	inWord := false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			end()
		case r == ';':
			end()
			words = append(words, ";")
		case r == '#' && !inWord:
			return words
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	end()
	return words
}
