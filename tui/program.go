package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/tui/view"
)

// program is the screens on top of each other, what is asked at the moment, and the last line. It implements tea.Model.
type program struct {
	*desk
	width, height int
	stack         []look.Screen // the last one is shown
	dialog        dialog        // nil for none
	status        look.Status
	result        Result
	opening       string // the session that is being opened, "" for none

	canvas *canvas
	drawn  time.Time // when the last frame was drawn
	due    bool      // another one is to be drawn soon
}

func newProgram(d *desk) *program {
	return &program{desk: d, stack: []look.Screen{newSessions(d)}, width: 80, height: 24}
}

func (p *program) top() look.Screen { return p.stack[len(p.stack)-1] }

// Init implements tea.Model.
func (p *program) Init() tea.Cmd { return tea.Batch(p.top().Init(), p.nextMinute()) }

// minute is sent when relative times have changed.
type minute struct{}

// nextMinute waits for the next minute of the clock.
func (p *program) nextMinute() tea.Cmd {
	now := p.now()
	wait := now.Truncate(time.Minute).Add(time.Minute).Sub(now)
	return tea.Tick(wait, func(time.Time) tea.Msg { return minute{} })
}

// opened is a session that was opened, or was not.
type opened struct {
	path   string
	screen look.Screen
	err    error
}

// Update implements tea.Model. Each message leads to a frame.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer p.giveBack()
	if _, ok := msg.(redraw); ok {
		p.due = false
		return p, p.draw()
	}
	_, cmd := p.take(msg)
	return p, tea.Batch(cmd, p.draw())
}

// redraw is sent when a frame is due.
type redraw struct{}

// frameTime is the least time between two frames: a wheel tells of more movements than there is something to see.
const frameTime = 16 * time.Millisecond

// draw draws a frame, at once or soon.
func (p *program) draw() tea.Cmd {
	if p.due {
		return nil
	}
	now := time.Now()
	if wait := frameTime - now.Sub(p.drawn); wait > 0 {
		p.due = true
		return tea.Tick(wait, func(time.Time) tea.Msg { return redraw{} })
	}
	p.canvas.draw(p.frame())
	p.drawn = time.Now()
	return nil
}

// giveBack gives the terminal back before a panic is printed.
func (p *program) giveBack() {
	if r := recover(); r != nil {
		p.canvas.leave()
		panic(r)
	}
}

// guarded is asked about every message. Commands that come in it give the terminal back if they panic.
func (p *program) guarded(_ tea.Model, msg tea.Msg) tea.Msg {
	if batch, ok := msg.(tea.BatchMsg); ok {
		for i, cmd := range batch {
			batch[i] = p.guard(cmd)
		}
	}
	return msg
}

// guard makes a command give the terminal back if it panics.
func (p *program) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		defer p.giveBack()
		return cmd()
	}
}

// take takes a message.
func (p *program) take(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p, p.key(msg)
	case tea.PasteMsg:
		return p, p.paste(msg)
	case tea.MouseMsg:
		return p, p.mouse(msg)
	case tea.WindowSizeMsg:
		p.width, p.height = msg.Width, msg.Height
		p.canvas.forget()
		return p, p.update(tea.WindowSizeMsg{Width: msg.Width, Height: p.body()})
	case tea.ResumeMsg:
		p.canvas.enter()
		return p, nil
	case minute:
		return p, tea.Batch(p.nextMinute(), p.update(msg))
	case look.To:
		return p, p.deliver(msg)
	case opened:
		return p, p.opened(msg)
	}
	if cmd, ok := p.request(msg); ok {
		return p, cmd
	}
	return p, p.update(msg)
}

// request carries out what a screen asked for.
func (p *program) request(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	switch msg := msg.(type) {
	case look.Open:
		return p.open(msg), true
	case look.Back:
		return p.back(), true
	case look.Status:
		p.status = msg
	case look.Confirm:
		p.dialog = &confirmation{msg}
	case look.Ask:
		q := &question{ask: msg}
		q.line.set(msg.Value)
		p.dialog = q
	case look.Choose:
		p.dialog = &choice{choose: msg}
	case look.Copy:
		p.result.Lines = append(p.result.Lines, msg.Text)
		p.status = look.Status{Text: "copied " + msg.What + ": " + msg.Text}
		p.canvas.clipboard(msg.Text)
	case look.Do:
		return p.act(msg.Action, msg.Target), true
	case show:
		return p.push(msg.screen), true
	case resume:
		p.result.Resume = msg.path
		return tea.Quit, true
	case pick:
		p.result.Chosen = &msg.Choice
		return tea.Quit, true
	default:
		return nil, false
	}
	return nil, true
}

// show asks for a screen on top, resume and pick end the program with a session.
type (
	show   struct{ screen look.Screen }
	resume struct{ path string }
	pick   struct{ Choice }
)

// update gives a message to the screen that is shown.
func (p *program) update(msg tea.Msg) tea.Cmd {
	next, cmd := p.top().Update(msg)
	p.stack[len(p.stack)-1] = next
	return cmd
}

// deliver gives a message to one screen. One that was left gets none.
func (p *program) deliver(to look.To) tea.Cmd {
	i := slices.Index(p.stack, to.Screen)
	if i < 0 {
		return nil
	}
	next, cmd := to.Screen.Update(to.Msg)
	p.stack[i] = next
	return cmd
}

func (p *program) push(s look.Screen) tea.Cmd {
	p.stack = append(p.stack, s)
	return tea.Batch(s.Init(), p.update(tea.WindowSizeMsg{Width: p.width, Height: p.body()}))
}

// open opens a session for its screen.
func (p *program) open(o look.Open) tea.Cmd {
	p.opening, p.status = o.Path, look.Status{Text: "opening …"}
	return func() tea.Msg {
		s, err := p.Store.Open(p.ctx, o.Path, store.OpenOptions{})
		if err != nil {
			return opened{path: o.Path, err: err}
		}
		return opened{path: o.Path, screen: view.New(p.ctx, s, view.Options{
			Store: p.Store, Palette: p.palette, Zone: p.Zone, Home: p.Home, Entry: session.EntryID(o.Entry), Context: o.Context,
			Rows: func(ctx context.Context) ([]treeline.Row, error) {
				return p.Store.Catalogue(ctx, treeline.RefreshOptions{})
			},
		})}
	}
}

// opened shows a session that was opened. It is closed at once if the user has gone on meanwhile.
func (p *program) opened(msg opened) tea.Cmd {
	wanted := msg.path == p.opening
	if wanted {
		p.opening, p.status = "", look.Status{}
	}
	switch {
	case msg.err != nil && wanted:
		p.status = look.Status{Text: msg.err.Error(), Error: true}
	case msg.err == nil && wanted:
		return p.push(msg.screen)
	case msg.err == nil:
		_ = closeScreen(msg.screen) // it was only read
	}
	return nil
}

// back leaves the screen. The first one stays.
func (p *program) back() tea.Cmd {
	p.opening = ""
	if len(p.stack) == 1 {
		return nil
	}
	err := closeScreen(p.top())
	p.stack = p.stack[:len(p.stack)-1]
	if err != nil {
		p.status = look.Status{Text: err.Error(), Error: true}
	}
	return p.update(tea.WindowSizeMsg{Width: p.width, Height: p.body()})
}

func closeScreen(s look.Screen) error {
	if c, ok := s.(look.Closer); ok {
		return c.Close()
	}
	return nil
}

// close closes all screens.
func (p *program) close() (err error) {
	for _, s := range slices.Backward(p.stack) {
		err = errors.Join(err, closeScreen(s))
	}
	return err
}

// typing reports whether characters are text.
func (p *program) typing() bool {
	t, ok := p.top().(look.Typist)
	return ok && t.Typing()
}

// key takes a key press: for the dialog, as text, or as an action.
func (p *program) key(msg tea.KeyPressMsg) tea.Cmd {
	if msg.String() == "ctrl+c" {
		return tea.Quit
	}
	p.status = look.Status{}
	if p.dialog != nil {
		cmd, done := p.dialog.key(msg)
		if done {
			p.dialog = nil
		}
		return cmd
	}
	if p.typing() {
		return p.update(msg)
	}
	if k, ok := look.Press(p.keys(), msg); ok {
		return k.Run()
	}
	return p.update(msg)
}

// keys are the actions of the screen, then those of the program.
func (p *program) keys() []look.Key {
	keys := p.top().Keys()
	if at, ok := p.top().(look.Pointer); ok && p.Pick {
		keys = append([]look.Key{{Keys: []string{"enter"}, Name: "pick", Help: "print the session and this entry, and end", Run: func() tea.Cmd {
			t, ok := at.Target()
			if !ok {
				return nil
			}
			return look.Send(pick{Choice{Path: t.Path, ID: t.ID, Entry: t.Entry}})
		}}}, keys...)
	}
	n := len(keys)
	for _, k := range p.own() {
		taken := func(key string) bool {
			return slices.ContainsFunc(keys[:n], func(of look.Key) bool { return slices.Contains(of.Keys, key) })
		}
		if k.Keys = slices.DeleteFunc(k.Keys, taken); len(k.Keys) > 0 {
			keys = append(keys, k)
		}
	}
	return keys
}

// own are the actions that every screen has. A screen may take one of their keys for itself.
func (p *program) own() []look.Key {
	on := func(key, name, help string, command func() string, make func() look.Screen) look.Key {
		return look.Key{Keys: []string{key}, Name: name, Help: help, Command: command, Run: func() tea.Cmd { return p.push(make()) }}
	}
	keys := []look.Key{
		on("S", "search", "search all sessions", func() string { return "treeline search WORDS" }, func() look.Screen { return newSearch(p.desk) }),
		on("U", "usage", "what sessions used: messages, tokens and cost", func() string { return "treeline stats" }, func() look.Screen { return newUsage(p.desk) }),
		{Keys: []string{"?"}, Name: "all keys", Help: "find an action by its name, and the command that does the same", Run: func() tea.Cmd {
			p.dialog = newKeyList(p)
			return nil
		}},
		{Keys: []string{"esc"}, Help: "back; the first screen stays", Run: p.back},
		{Keys: []string{"q"}, Help: "close this screen; the first one ends the program", Run: func() tea.Cmd {
			if len(p.stack) == 1 {
				return tea.Quit
			}
			return p.back()
		}},
		{Keys: []string{"ctrl+c"}, Help: "end the program", Run: func() tea.Cmd { return tea.Quit }},
		{Keys: []string{"ctrl+z"}, Help: "suspend the program; fg continues it", Run: func() tea.Cmd {
			p.canvas.leave()
			return tea.Suspend
		}},
		{Keys: []string{"ctrl+l"}, Help: "draw the screen again", Run: func() tea.Cmd {
			p.canvas.forget()
			return nil
		}},
	}
	// One search, and one page of usage, are enough.
	for _, s := range p.stack {
		switch s.(type) {
		case *search:
			keys = slices.DeleteFunc(keys, func(k look.Key) bool { return k.Name == "search" })
		case *usageScreen:
			keys = slices.DeleteFunc(keys, func(k look.Key) bool { return k.Name == "usage" })
		}
	}
	return keys
}

// paste gives pasted text to what is typed.
func (p *program) paste(msg tea.PasteMsg) tea.Cmd {
	if t, ok := p.dialog.(typist); ok {
		t.insert(msg.Content)
		return nil
	}
	if p.dialog == nil && p.typing() {
		return p.update(msg)
	}
	return nil // elsewhere its characters would be actions
}

// mouse gives an event to the dialog or the screen, with lines counted from the first of it.
func (p *program) mouse(msg tea.MouseMsg) tea.Cmd {
	m := msg.Mouse()
	first := 1 // below the title
	if p.dialog != nil {
		first += p.body() - len(p.box())
	}
	if m.Y -= first; m.Y < 0 {
		return nil
	}
	var moved tea.MouseMsg
	switch msg.(type) {
	case tea.MouseClickMsg:
		moved = tea.MouseClickMsg(m)
		p.status = look.Status{}
	case tea.MouseWheelMsg:
		moved = tea.MouseWheelMsg(m)
	case tea.MouseReleaseMsg:
		moved = tea.MouseReleaseMsg(m)
	default:
		moved = tea.MouseMotionMsg(m)
	}
	if p.dialog != nil {
		cmd, done := p.dialog.mouse(moved)
		if done {
			p.dialog = nil
		}
		return cmd
	}
	return p.update(moved)
}

// body is how many lines a screen has: all but the title and the keys.
func (p *program) body() int { return max(p.height-2, 1) }

// View implements tea.Model. Frames go to the canvas.
func (p *program) View() tea.View { return tea.View{} }

// frame draws everything.
func (p *program) frame() (string, *cursor) {
	left, right := p.top().Title()
	lines := make([]string, 0, p.height)
	// A column stays free at both ends, as on paper.
	lines = append(lines, " "+look.Ends(p.palette.Strong.Render(look.Line(left, max(p.width-2, 1))), p.palette.Faint.Render(look.Line(right, max(p.width-12, 1))), p.width-2))
	room := p.body()
	box := p.box()
	room -= len(box)
	var drawn []string
	if room > 0 {
		drawn = strings.Split(p.top().Draw(p.width, room), "\n")
		drawn = drawn[:min(len(drawn), room)]
	}
	for range room - len(drawn) {
		drawn = append(drawn, "")
	}
	lines = append(append(lines, drawn...), box...)
	lines = append(lines, p.lastLine())
	return strings.Join(lines, "\n"), p.cursor(room)
}

// box is the lines of the dialog. Some of the screen stays in sight.
func (p *program) box() []string {
	if p.dialog == nil {
		return nil
	}
	const sight = 4
	room := max(p.body()-sight, 1)
	box := p.dialog.draw(p.palette, p.width, room)
	return box[:min(len(box), room)]
}

// cursor is where text is typed, nil where none is.
func (p *program) cursor(room int) *cursor {
	if t, ok := p.dialog.(typist); ok {
		x, y := t.cursor()
		return &cursor{x, 1 + room + y}
	}
	if c, ok := p.top().(look.Placer); ok && p.dialog == nil {
		if x, y, shown := c.Cursor(); shown {
			return &cursor{x, 1 + y}
		}
	}
	return nil
}

// lastLine is the status or, without one, the keys that fit. The last one leads to all others.
func (p *program) lastLine() string {
	if p.status.Text != "" {
		text := look.Line(p.status.Text, p.width-2)
		if p.status.Error {
			return " " + p.palette.Error.Render(text)
		}
		return " " + p.palette.Accent.Render(text)
	}
	keys := p.keys()
	if p.dialog != nil {
		keys = p.dialog.keys()
	} else if p.typing() {
		keys = typed(keys)
	}
	const between = " · "
	var words []string
	last, used := "", 2
	for _, k := range keys {
		if k.Name == "" || len(k.Keys) == 0 {
			continue
		}
		word := look.Shown(k.Keys[0]) + " " + k.Name
		if k.Name == "all keys" {
			last = word
			used += look.Width(word) + len(between)
		} else {
			words = append(words, word)
		}
	}
	line := ""
	for _, w := range words {
		n := look.Width(w) + 3
		if used+n > p.width {
			break
		}
		used += n
		if line != "" {
			line += between
		}
		line += w
	}
	if last != "" {
		if line != "" {
			line += between
		}
		line += last
	}
	return " " + p.palette.Faint.Render(look.Cut(line, p.width-2))
}

// typed keeps the keys that are no text.
func typed(keys []look.Key) (kept []look.Key) {
	for _, k := range keys {
		k.Keys = slices.DeleteFunc(slices.Clone(k.Keys), func(name string) bool { return len([]rune(name)) == 1 || name == "space" })
		if len(k.Keys) > 0 {
			kept = append(kept, k)
		}
	}
	return kept
}
