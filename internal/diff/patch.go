package diff

import (
	"strconv"
	"strings"
)

// File is what a patch does to one file.
type File struct {
	Path string
	// From is the old path if the file was renamed; otherwise "".
	From         string
	New, Deleted bool
	Hunks        []Hunk
}

// The lines of the patches that language models write.
const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File: "
	updateFile = "*** Update File: "
	deleteFile = "*** Delete File: "
	moveTo     = "*** Move to: "
)

// ParsePatch reads the first patch in a text: one that begins with "*** Begin Patch", or a unified diff. It skips text around the patch,
// such as a command. It returns none if the text has no patch.
func ParsePatch(text string) []File {
	if at := strings.Index(text, beginPatch); at >= 0 && (at == 0 || strings.ContainsAny(text[at-1:at], "\n'\" ")) {
		return parseBegun(text[at:])
	}
	return parseUnified(text)
}

func parseBegun(text string) (files []File) {
	var file *File
	begin := func(path string) {
		files = append(files, File{Path: strings.TrimSpace(path)})
		file = &files[len(files)-1]
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "*** ") {
			switch {
			case strings.HasPrefix(line, endPatch):
				return files
			case strings.HasPrefix(line, addFile):
				begin(line[len(addFile):])
				file.New = true
				file.Hunks = []Hunk{{OldLine: 0, NewLine: 1}}
			case strings.HasPrefix(line, updateFile):
				begin(line[len(updateFile):])
			case strings.HasPrefix(line, deleteFile):
				begin(line[len(deleteFile):])
				file.Deleted = true
			case strings.HasPrefix(line, moveTo) && file != nil:
				file.From, file.Path = file.Path, strings.TrimSpace(line[len(moveTo):])
			}
			continue
		}
		if file == nil {
			continue
		}
		if section, ok := strings.CutPrefix(line, "@@"); ok {
			file.Hunks = append(file.Hunks, Hunk{Section: strings.TrimSpace(section)})
			continue
		}
		if len(file.Hunks) == 0 {
			file.Hunks = append(file.Hunks, Hunk{})
		}
		h := &file.Hunks[len(file.Hunks)-1]
		h.Lines = append(h.Lines, patchLine(line))
	}
	return files
}

// patchLine reads a line of a hunk. A line without a sign is an unchanged line: editors remove the blank of an empty line.
func patchLine(line string) Line {
	if line == "" {
		return Line{}
	}
	switch line[0] {
	case '+':
		return Line{Op: Added, Text: line[1:]}
	case '-':
		return Line{Op: Removed, Text: line[1:]}
	case ' ':
		return Line{Text: line[1:]}
	}
	return Line{Text: line}
}

// parseUnified reads a unified diff. Its hunks contain their numbers of lines, so that text after a hunk is not taken for a part of it.
func parseUnified(text string) (files []File) {
	var file File
	var hunk *Hunk
	var old, now int // lines that are left in the hunk
	finish := func() {
		if len(file.Hunks) > 0 || file.From != "" && file.From != file.Path {
			if file.From == file.Path || file.New || file.Deleted {
				file.From = ""
			}
			files = append(files, file)
		}
		file, hunk = File{}, nil
	}
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case hunk != nil && (old > 0 || now > 0) && (line == "" || strings.ContainsRune(" +-", rune(line[0]))):
			l := patchLine(line)
			if l.Op != Added {
				old--
			}
			if l.Op != Removed {
				now--
			}
			hunk.Lines = append(hunk.Lines, l)
		case hunk != nil && strings.HasPrefix(line, `\ `) && len(hunk.Lines) > 0:
			hunk.Lines[len(hunk.Lines)-1].NoNewline = true
		case strings.HasPrefix(line, "--- "):
			finish()
			before = patchPath(line[4:])
		case strings.HasPrefix(line, "+++ ") && before != "":
			after := patchPath(line[4:])
			file = File{Path: after, From: before, New: before == nowhere, Deleted: after == nowhere}
			if file.Deleted {
				file.Path = before
			}
			before = ""
		case strings.HasPrefix(line, "@@ ") && file.Path != "":
			h, o, n, ok := hunkHeader(line)
			if !ok {
				hunk = nil
				continue
			}
			old, now = o, n
			file.Hunks = append(file.Hunks, h)
			hunk = &file.Hunks[len(file.Hunks)-1]
		}
	}
	finish()
	return files
}

const nowhere = "/dev/null"

// patchPath returns the path in a line that names a file, without the time after it and the prefix that git puts before it.
func patchPath(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	s = strings.TrimSpace(s)
	if len(s) > 2 && s[1] == '/' && strings.IndexByte("abciow", s[0]) >= 0 {
		s = s[2:]
	}
	return s
}

// hunkHeader reads "@@ -1,2 +3,4 @@ section".
func hunkHeader(line string) (h Hunk, old, now int, ok bool) {
	place, section, ok := strings.Cut(strings.TrimPrefix(line, "@@ "), " @@")
	if !ok {
		return h, 0, 0, false
	}
	a, b, ok := strings.Cut(place, " ")
	if !ok || !strings.HasPrefix(a, "-") || !strings.HasPrefix(b, "+") {
		return h, 0, 0, false
	}
	h.Section = strings.TrimSpace(section)
	var okA, okB bool
	h.OldLine, old, okA = lineRange(a[1:])
	h.NewLine, now, okB = lineRange(b[1:])
	return h, old, now, okA && okB
}

func lineRange(s string) (line, count int, ok bool) {
	first, n, several := strings.Cut(s, ",")
	line, err := strconv.Atoi(first)
	if err != nil || line < 0 {
		return 0, 0, false
	}
	if !several {
		return line, 1, true
	}
	count, err = strconv.Atoi(n)
	return line, count, err == nil && count >= 0
}
