package markup

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// tables turns a paragraph into a table if it has a line of dashes and pipes after a line with as many cells.
type tables struct{}

// maxColumns limits the columns of a table.
const maxColumns = 100

// table has rows, and a row has cells. The first row is the head.
type table struct{ ast.BaseBlock }

type tableRow struct{ ast.BaseBlock }

type tableCell struct {
	ast.BaseBlock
	align string // "", "right" or "center"
}

var (
	kindTable = ast.NewNodeKind("Table")
	kindRow   = ast.NewNodeKind("TableRow")
	kindCell  = ast.NewNodeKind("TableCell")
)

func (*table) Kind() ast.NodeKind                  { return kindTable }
func (*tableRow) Kind() ast.NodeKind               { return kindRow }
func (*tableCell) Kind() ast.NodeKind              { return kindCell }
func (t *table) Dump(source []byte, level int)     { ast.DumpHelper(t, source, level, nil, nil) }
func (r *tableRow) Dump(source []byte, level int)  { ast.DumpHelper(r, source, level, nil, nil) }
func (c *tableCell) Dump(source []byte, level int) { ast.DumpHelper(c, source, level, nil, nil) }

// Transform replaces the paragraph, or the end of it, by a table.
func (tables) Transform(node *ast.Paragraph, r text.Reader, _ parser.Context) {
	lines, source := node.Lines(), r.Source()
	for i := 1; i < lines.Len(); i++ {
		rule := lines.At(i)
		aligns := alignments(rule.Value(source))
		if aligns == nil {
			continue
		}
		head := cells(lines.At(i-1), source)
		if len(head) != len(aligns) {
			continue
		}
		t := &table{}
		t.AppendChild(t, newRow(head, aligns))
		for j := i + 1; j < lines.Len(); j++ {
			t.AppendChild(t, newRow(cells(lines.At(j), source), aligns))
		}
		parent := node.Parent()
		parent.InsertAfter(parent, node, t)
		if i == 1 {
			parent.RemoveChild(parent, node)
		} else {
			lines.SetSliced(0, i-1)
		}
		return
	}
}

// newRow makes a row. The format drops cells beyond the columns of the table; here they are shown. Missing ones are not added: a table
// could become much larger than its text.
func newRow(cells []text.Segment, aligns []string) *tableRow {
	row := &tableRow{}
	for i, s := range cells {
		c := &tableCell{}
		if i < len(aligns) {
			c.align = aligns[i]
		}
		if !s.IsEmpty() { // the parser skips empty lines
			c.Lines().Append(s)
		}
		row.AppendChild(row, c)
	}
	return row
}

// cells splits a line at the pipes that have no backslash before them. The rest after the last allowed column is one cell.
func cells(line text.Segment, source []byte) []text.Segment {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	s := line.Value(source)
	from, to := 0, len(s)
	if from < to && s[from] == '|' {
		from++
	}
	if to > from && s[to-1] == '|' && (to < 2 || s[to-2] != '\\') {
		to--
	}
	var all []text.Segment
	add := func(from, to int) {
		cell := text.NewSegment(line.Start+from, line.Start+to)
		cell = cell.TrimLeftSpace(source)
		all = append(all, cell.TrimRightSpace(source))
	}
	for i := from; i < to && len(all) < maxColumns-1; i++ {
		switch s[i] {
		case '\\':
			i++
		case '|':
			add(from, i)
			from = i + 1
		}
	}
	add(from, to)
	return all
}

// alignments reads the line under the head of a table, such as |:---|---:|. It returns nil for any other line.
func alignments(line []byte) (aligns []string) {
	line = bytes.TrimSpace(line)
	if !bytes.ContainsRune(line, '|') || len(line) > 64*maxColumns {
		return nil
	}
	line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("|")), []byte("|"))
	for cell := range bytes.SplitSeq(line, []byte("|")) {
		cell = bytes.TrimSpace(cell)
		left, right := bytes.HasPrefix(cell, []byte(":")), bytes.HasSuffix(cell, []byte(":"))
		dashes := bytes.Trim(cell, ":")
		if len(dashes) == 0 || len(bytes.Trim(dashes, "-")) > 0 || len(cell)-len(dashes) > 2 {
			return nil
		}
		switch {
		case left && right:
			aligns = append(aligns, "center")
		case right:
			aligns = append(aligns, "right")
		default:
			aligns = append(aligns, "")
		}
	}
	return aligns
}
