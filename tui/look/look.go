// Package look is what the screens of the terminal program share: the contract of a screen, what a screen can ask of the
// program, its keys, colours, and text that is safe to draw.
//
// A screen draws a window of what it has and never the whole. It asks the program for everything else by messages: Open, Back,
// Do, Ask, Choose, Confirm, Status, Copy. The program draws the first line (Title) and the last one (Keys), and gives a
// screen the lines between them.
package look

import (
	tea "charm.land/bubbletea/v2"
)

// Screen is one screen of the program. All its methods are called from one goroutine; what takes longer than a frame is done
// in a tea.Cmd, whose message comes back to Update of the screen that returned it only if it is To that screen.
type Screen interface {
	// Init begins what the screen waits for. It is called once, before Draw.
	Init() tea.Cmd
	// Update takes a message: a key that is not one of the program's, a mouse event whose Y counts from the screen's own first
	// line, a size, or what a command of the screen returned. The screen that it returns takes its place.
	Update(msg tea.Msg) (Screen, tea.Cmd)
	// Draw gives at most height lines of at most width columns. It changes nothing that Update relies on, except what depends on
	// the size, such as where scrolling ends.
	Draw(width, height int) string
	// Keys are the actions of the screen as it is now, the most useful first. The last line, the list of all keys and the dispatch
	// of key presses come from them.
	Keys() []Key
	// Title is the text of the first line: what the screen shows, and a fact or two for its right end.
	Title() (left, right string)
}

// Typist is a Screen in which text is typed at times.
type Typist interface {
	// Typing reports whether a character is text now, and no action. Keys with a modifier and those without a character, such as
	// enter, are still actions.
	Typing() bool
}

// Closer is a Screen that holds something, such as an open session.
type Closer interface {
	// Close ends what the screen began. It is not used again.
	Close() error
}

// Placer is a Screen with a text cursor.
type Placer interface {
	// Cursor gives the place of the cursor in what was drawn last, and whether it is shown.
	Cursor() (x, y int, shown bool)
}

// Pointer is a Screen with an entry under its cursor.
type Pointer interface {
	// Target is the session and the entry; false if there is none.
	Target() (Target, bool)
}

// To is a message for one screen, wherever it is on the stack of screens. Results of commands come as To, so that a screen that
// was left, or lies under another, gets no messages of another.
type To struct {
	Screen Screen
	Msg    tea.Msg
}

// Open asks for the session screen.
type Open struct {
	// Path is that of the session, as in lists.
	Path string
	// Entry is where it opens; "" is the leaf.
	Entry string
	// Context opens it at what the model sees.
	Context bool
}

// Back asks for the screen before this one. The first screen has none: the program stays.
type Back struct{}

// Status is a line of text for the user, shown until the next key.
type Status struct {
	Text string
	// Error marks what went wrong.
	Error bool
}

// Confirm asks a question whose answer is yes or no, and runs Then after a yes. Enter is not a yes.
type Confirm struct {
	// Question is one line; Detail explains it, line by line.
	Question string
	Detail   []string
	Then     tea.Cmd
}

// Ask asks for a line of text.
type Ask struct {
	Question string
	// Value is what the line begins as.
	Value string
	// Then gets the line. Esc answers nothing, and Then is not called.
	Then func(answer string) tea.Cmd
}

// Choose asks for one of several.
type Choose struct {
	Question string
	Options  []Option
	// Then gets the index of the chosen one. Esc chooses none, and Then is not called.
	Then func(chosen int) tea.Cmd
	// Left is said if none is chosen; "" is that nothing was changed.
	Left string
}

// Option is one that Choose offers.
type Option struct {
	Name string
	// Note says more about it.
	Note string
}

// Copy puts a text into the clipboard of the terminal. Only an action of the user sends it, never a session.
type Copy struct {
	Text string
	// What it is, for the status: "the resume command".
	What string
}

// Target is what an action is done to.
type Target struct {
	// Path, ID, Agent and Title are of the session, as a list shows them. Ref is what a command line calls it.
	Path, ID, Agent, Title, Ref string
	// Entry is the entry that is meant; "" is the leaf.
	Entry string
	// Label is the one that the entry has.
	Label string
}

// Do asks for an action on a session. The program asks back where that is needed.
type Do struct {
	Action Action
	Target Target
}

// Done tells all screens that an action changed a session.
type Done struct {
	Action Action
	Target Target
}

// Send makes a command of a message.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }
