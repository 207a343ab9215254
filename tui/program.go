package tui

import (
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/tui/view"
)

// program is the stack of screens, the current dialog, and the last line. It implements tea.Model.
type program struct {
	*desk
	width, height int
	stack         []look.Screen // the last one is visible
	dialog        dialog        // nil if there is none
	status        look.Status
	result        Result
	opening       string // the session that is being opened, "" for none

	canvas *canvas
	drawn  time.Time // when the last frame was drawn
	due    bool      // another frame will be drawn soon
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

// opened is the result of opening a session.
type opened struct {
	path   string
	screen look.Screen
	err    error
}

// Update implements tea.Model. Each message causes a frame.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer p.giveBack()
	if _, ok := msg.(redraw); ok {
		p.due = false
		return p, p.draw()
	}
	_, cmd := p.take(msg)
	return p, p.guard(tea.Batch(cmd, p.draw())) // tea.Batch of one command is that command, which guarded does not see
}

// redraw is sent when a frame is due.
type redraw struct{}

// frameTime is the least time between two frames: a mouse wheel sends more events than can be seen.
const frameTime = 16 * time.Millisecond

// draw draws a frame, now or soon.
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

// giveBack restores the terminal before a panic is printed.
func (p *program) giveBack() {
	if r := recover(); r != nil {
		p.canvas.leave()
		panic(r)
	}
}

// guarded sees every message. It makes the commands in it restore the terminal if they panic.
func (p *program) guarded(_ tea.Model, msg tea.Msg) tea.Msg {
	if batch, ok := msg.(tea.BatchMsg); ok {
		for i, cmd := range batch {
			batch[i] = p.guard(cmd)
		}
	}
	return msg
}

// guard makes a command restore the terminal if it panics.
func (p *program) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		defer p.giveBack()
		return cmd()
	}
}

// take handles a message.
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

// request carries out a request of a screen.
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
	case look.Done:
		return p.done(msg), true
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

// done tells all screens that a session was changed. The screen of a session that was removed is closed.
func (p *program) done(d look.Done) tea.Cmd {
	var cmds []tea.Cmd
	if at, ok := p.top().(look.Pointer); ok && d.Action == look.Delete {
		if t, _ := at.Target(); t.Path == d.Target.Path {
			cmds = append(cmds, p.back())
		}
	}
	for i, s := range p.stack {
		next, cmd := s.Update(d)
		p.stack[i], cmds = next, append(cmds, cmd)
	}
	return tea.Batch(cmds...)
}

// resume and pick end the program with a session.
type (
	resume struct{ path string }
	pick   struct{ Choice }
)

// update passes a message to the visible screen.
func (p *program) update(msg tea.Msg) tea.Cmd {
	next, cmd := p.top().Update(msg)
	p.stack[len(p.stack)-1] = next
	return cmd
}

// deliver passes a message to one screen, unless that was closed.
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
		})}
	}
}

// opened shows a session that was opened. If the user has gone on in the meantime, the session is closed at once.
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

// back closes the visible screen, unless it is the first one.
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

// paste passes pasted text to the line that is typed.
func (p *program) paste(msg tea.PasteMsg) tea.Cmd {
	if t, ok := p.dialog.(typist); ok {
		t.insert(msg.Content)
		return nil
	}
	if p.dialog == nil && p.typing() {
		return p.update(msg)
	}
	return nil // elsewhere, its characters would be actions
}

// mouse passes an event to the dialog or the screen, with lines that count from its first one.
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
