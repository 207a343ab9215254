// Package look is what the screens of the terminal program share: the contract of a screen, the messages by which a screen asks the program
// for something, keys, colours, and text that is safe to draw.
//
// A screen draws only a window of its content. It asks the program for everything else by messages: Open, Back, Do, Ask, Choose, Confirm,
// Status, Copy. The program draws the first line (Title) and the last one (Keys); the screen has the lines between them.
package look

import (
	tea "charm.land/bubbletea/v2"
)

// Screen is one screen of the program. All its methods are called from one goroutine. Work that takes longer than a frame is done in a
// tea.Cmd. Its message is certain to reach Update of the same screen only if it is To that screen.
type Screen interface {
	// Init starts loading. It is called once, before Draw.
	Init() tea.Cmd
	// Update handles a message: a key that is not one of the program's, a mouse event whose Y counts from the first line of the screen, a
	// size, or the result of a command of the screen. The screen that it returns replaces this one.
	Update(msg tea.Msg) (Screen, tea.Cmd)
	// Draw returns at most height lines of at most width columns. It changes nothing that Update relies on, except what depends on the
	// size, such as the end of scrolling.
	Draw(width, height int) string
	// Keys returns the currently possible actions, the most useful first. They are used for the last line, the list of all keys and the
	// dispatch of key presses.
	Keys() []Key
	// Title returns the text of the first line: what the screen shows, and a fact or two for the right end.
	Title() (left, right string)
}

// Typist is a Screen in which text is sometimes typed.
type Typist interface {
	// Typing reports whether characters are currently text and not actions. Keys with a modifier and those without a character, such as
	// enter, are still actions.
	Typing() bool
}

// Closer is a Screen that holds resources, such as an open session.
type Closer interface {
	// Close releases them. The screen is not used again.
	Close() error
}

// Placer is a Screen with a text cursor.
type Placer interface {
	// Cursor returns the place of the cursor in what was drawn last, and whether it is visible.
	Cursor() (x, y int, shown bool)
}

// Pointer is a Screen with an entry under its cursor.
type Pointer interface {
	// Target returns the session and the entry, or false if there is none.
	Target() (Target, bool)
}

// To is a message for one screen, wherever it is on the stack. Results of commands are sent as To, so that no screen gets the messages of
// another one, and a closed screen gets none.
type To struct {
	Screen Screen
	Msg    tea.Msg
}

// Open requests the session screen.
type Open struct {
	// Path is the path of the session, as in lists.
	Path string
	// Entry is the entry at which it opens; "" means the leaf.
	Entry string
	// Context opens it with what the model sees.
	Context bool
}

// Back requests the screen before this one. The first screen has none, so nothing happens.
type Back struct{}

// Status is a line of text for the user, shown until the next key.
type Status struct {
	Text string
	// Error marks an error.
	Error bool
}

// Confirm asks a yes-or-no question, and calls Then after a yes. Enter does not count as yes.
type Confirm struct {
	// Question is one line; Detail explains it, line by line.
	Question string
	Detail   []string
	Then     tea.Cmd
}

// Ask asks for a line of text.
type Ask struct {
	Question string
	// Value is the initial value of the line.
	Value string
	// Then gets the line. After esc it is not called.
	Then func(answer string) tea.Cmd
}

// Choose asks the user to choose one of several options.
type Choose struct {
	Question string
	Options  []Option
	// Then gets the index of the chosen option. After esc it is not called.
	Then func(chosen int) tea.Cmd
	// Left is shown if none is chosen; "" means a text saying that nothing was changed.
	Left string
}

// Option is an option of Choose.
type Option struct {
	Name string
	// Note explains it.
	Note string
}

// Copy copies a text to the clipboard of the terminal. Only an action of the user may send it, never the text of a session.
type Copy struct {
	Text string
	// What describes the text for the status: "the resume command".
	What string
}

// Target is the session or entry that an action applies to.
type Target struct {
	// Path, ID, Agent and Title are those of the session in a list. Ref is its name on a command line.
	Path, ID, Agent, Title, Ref string
	// Entry is the entry; "" means the leaf.
	Entry string
	// Label is the label of the entry.
	Label string
}

// Do requests an action on a session. The program asks the user first if necessary.
type Do struct {
	Action Action
	Target Target
}

// Done tells all screens that an action changed a session.
type Done struct {
	Action Action
	Target Target
}

// Send returns a command that sends a message.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }
