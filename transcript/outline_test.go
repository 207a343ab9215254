package transcript_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

func outline(t *testing.T, d *transcript.Document, r transcript.OutlineRequest) (*transcript.Outline, []transcript.OutlineRow) {
	t.Helper()
	o, err := d.Outline(r)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := o.Rows(t.Context(), 0, o.Len())
	if err != nil {
		t.Fatal(err)
	}
	return o, rows
}

// sketch draws an outline with letters.
func sketch(rows []transcript.OutlineRow) string {
	var b strings.Builder
	for _, r := range rows {
		column := r.Column
		if r.Begins {
			column--
		}
		b.WriteString(strings.Repeat("│ ", max(column, 0)))
		if r.Begins {
			b.WriteString("├─")
		}
		b.WriteString(r.Text)
		if r.Folded {
			fmt.Fprintf(&b, " (%d)", r.Hidden)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// checkOutline checks that the outline has the rows of a rail without limit, with the same texts in the same order.
func checkOutline(t *testing.T, d *transcript.Document, rail *transcript.Rail) {
	t.Helper()
	o, rows := outline(t, d, transcript.OutlineRequest{})
	at := 0
	for _, want := range rail.Rows {
		if want.Kind == transcript.RowRun {
			t.Fatal("the rail is not whole")
		}
		if at == len(rows) {
			t.Fatalf("%d rows", len(rows))
		}
		got := rows[at]
		if got.Entry != want.Entry || got.Text != want.Text || got.Link != want.Link || got.Active != want.Active || got.Leaf != want.Leaf || got.Number != want.Number {
			t.Fatalf("row %d: %+v, in the rail %+v", at, got.Row, want)
		}
		if found := o.Find(got.Entry); found != at && !repeated(d, got.Entry) {
			t.Fatalf("row %d is found at %d", at, found)
		}
		if got.Column < want.Column {
			t.Fatalf("row %d: column %d, in the rail %d", at, got.Column, want.Column)
		}
		at++
	}
	if at != len(rows) {
		t.Fatalf("%d rows, in the rail %d", len(rows), at)
	}
}

func TestOutline(t *testing.T) {
	d := talk(t,
		"a - user One.", "b a answer Two.", "c b user Three.", "d c answer Four.", "e d user Five.",
		"f b user Other.", "g f answer Six.", "h g user Deeper.", "i g user Deepest.", "j i answer End.",
		"k j label c mark",
	)
	o, rows := outline(t, d, transcript.OutlineRequest{})
	if diff := difftest.Diff("One.\nTwo.\n├─Three.\n│ Four.\n│ Five.\nOther.\nSix.\n├─Deeper.\nDeepest.\nEnd.\n", sketch(rows)); diff != "" {
		t.Error(diff)
	}
	if rows[2].Label != "mark" || rows[2].Number != 1 || rows[5].Number != 2 || !rows[1].Fork || !rows[9].Leaf {
		t.Errorf(`%+v; want rows[2].Label == "mark", rows[2].Number == 1, rows[5].Number == 2, rows[1].Fork, rows[9].Leaf`, rows)
	}
	for row, want := range []int{0, 0, 2, 2, 2, 5, 5, 7, 8, 8} {
		if got := o.Head(row); got != want {
			t.Errorf("row %d: its branch begins at %d, want %d", row, got, want)
		}
	}
	if got := []int{o.NextPrompt(0, 1, false), o.NextPrompt(0, 1, true), o.NextPrompt(2, -1, false), o.NextPrompt(8, 1, false)}; !slices.Equal(got, []int{2, 5, 0, -1}) {
		t.Error(got)
	}
	if o.Find("nothing") != -1 || o.Find("k") != 9 {
		t.Error(o.Find("nothing"), o.Find("k"))
	}

	if got := o.Aside(); !slices.Equal(got, []session.EntryID{"c", "h"}) {
		t.Error(got)
	}
	if k := d.Skeleton(); !k.Leads("b", "e") || !k.Leads("b", "k") || k.Leads("c", "j") || k.Leads("x", "j") || k.Leads("c", "x") || !k.Leads("c", "c") {
		t.Error("what leads where")
	}

	o, rows = outline(t, d, transcript.OutlineRequest{Folded: map[session.EntryID]bool{"c": true, "i": true, "h": true}})
	if diff := difftest.Diff("One.\nTwo.\n├─Three. (2)\nOther.\nSix.\n├─Deeper.\nDeepest. (1)\n", sketch(rows)); diff != "" {
		t.Error(diff)
	}
	if o.Find("e") != 2 || o.Find("j") != 6 {
		t.Error(o.Find("e"), o.Find("j"))
	}

	_, rows = outline(t, d, transcript.OutlineRequest{Landmarks: true})
	if diff := difftest.Diff("One.\nTwo.\n├─Three.\n│ Five.\nOther.\nSix.\n├─Deeper.\nDeepest.\nEnd.\n", sketch(rows)); diff != "" {
		t.Error(diff)
	}
}

// Several roots are the branches of a fork before them.
func TestOutlineOfRoots(t *testing.T) {
	_, rows := outline(t, talk(t, "a - user One.", "b a answer Two.", "c - user Three."), transcript.OutlineRequest{})
	if diff := difftest.Diff("├─One.\n│ Two.\nThree.\n", sketch(rows)); diff != "" {
		t.Error(diff)
	}
}
