package treeline

import (
	"time"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/push"
	"github.com/treeline-dev/treeline/repair"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/watch"
)

// Session is one session, open for reading, or for reading and appending. Several goroutines may use it at once.
//
// Reading:
//
//	ID, Header, Name, Title                          what it is
//	CWD, Path, Dir, Log, Dialect                     where it is, and how it is read
//	Leaf, HasLeaves, Tree, View, Read                its entries; View and Read while no append changes them
//	Context, Resume                                  what the model would see at an entry; when the session resumes
//	Prompts                                          what the user typed
//	Renew                                            read what other programs appended
//	EntryJSON, Whole, MessageParts, Blob             one entry, message or blob
//
// Appending; each returns an Appended:
//
//	AppendUser, AppendAssistant, AppendToolResult    messages from texts, images, calls and results, in any dialect
//	Append, AppendRecord, AppendMessage, AppendText  an entry, a record, a message in the dialect's own JSON, plain text
//	AppendModelChange, AppendThinkingLevelChange, AppendModeChange, AppendSessionInfo, AppendSessionInit,
//	AppendCustom, AppendCustomMessage, AppendTTSRInjection
//	Compact, Label                                   a compaction, a label
//	Branch, BranchWithSummary, ResetLeaf             move the leaf
//
// Changing the whole session:
//
//	NewSession, Fork, BranchedSession                continue in a new session, a copy, a copy of one path
//	Rename, Move, Delete                             its name, its project directory, its end
//	RewriteEntries, RewriteToolCallArguments         replace the log
//	Flush, Close                                     make durable what was appended; close the session
type Session = store.Session

// CreateOptions say what a new session is: its working directory, dialect, id and title.
type CreateOptions = store.CreateOptions

// WriteOptions say how a session is written: durability, conflicts, deferred creation.
type WriteOptions = store.WriteOptions

// Answer is what is known about an answer besides its parts: the model, its usage, why it ended.
type Answer = store.Answer

// Stop says why an answer ended. dialect.StopOf gives the Stop for the word of a provider, which Answer.Stop takes as well.
type Stop = store.Stop

// Why an answer ended.
const (
	StopEnd     = dialect.StopEnd     // the model was done
	StopLength  = dialect.StopLength  // a limit of tokens was reached
	StopTools   = dialect.StopTools   // it waits for results of its calls
	StopAborted = dialect.StopAborted // the user ended it
	StopError   = dialect.StopError   // it failed; Answer.Error says why
	StopFilter  = dialect.StopFilter  // the provider or the model refused to go on
)

// Defer says when the log of a new session is created.
type Defer = dialect.Defer

// When the log of a new session is created.
const (
	DeferNever     = dialect.DeferNever     // at once
	DeferMessage   = dialect.DeferMessage   // with the first message of the user or the model
	DeferAssistant = dialect.DeferAssistant // with the first message of the model
)

// RefusedError says why something was not written: it looks like a mistake. WriteOptions.Force writes it anyway.
type RefusedError = store.RefusedError

// BranchOptions say how the leaf moves: whether the move survives a restart.
type BranchOptions = store.BranchOptions

// OpenOptions change how a session is opened for reading.
type OpenOptions = store.OpenOptions

// ContextOptions change what a context holds.
type ContextOptions = store.ContextOptions

// Appended is the result of an append: the entry's id, whether it is durable, and what other programs wrote first.
type Appended = store.Appended

// Event is what an Observer gets.
type Event = store.Event

// VetoError is the error for what an Observer refused.
type VetoError = store.VetoError

// EventKind is the kind of an Event.
type EventKind = store.EventKind

// The kinds of events; see the constants of package store.
const (
	EventBeforeCompaction = store.EventBeforeCompaction
	EventCompaction       = store.EventCompaction
	EventBeforeFork       = store.EventBeforeFork
	EventTree             = store.EventTree
	EventForeign          = store.EventForeign
	EventRepaired         = store.EventRepaired
	EventProblem          = store.EventProblem
	EventHeld             = store.EventHeld
)

// Observer is notified of what happens to a session while it is written.
type Observer = store.Observer

// Durability says what an append survives when it returns.
type Durability = store.Durability

// What an append survives.
const (
	DurabilityNone   = store.DurabilityNone
	DurabilityFlush  = store.DurabilityFlush
	DurabilityAlways = store.DurabilityAlways
)

// Policy says what an append does when another process wrote to the log first.
type Policy = store.Policy

// What an append does if another process wrote first.
const (
	PolicyBranch = store.PolicyBranch
	PolicyFollow = store.PolicyFollow
	PolicyRefuse = store.PolicyRefuse
)

// Entry is one entry of a session's tree; see package session for bodies, parts, trees and contexts.
type Entry = session.Entry

// Problem is something wrong with a log that did not stop its reading.
type Problem = session.Problem

// Row is a session as a list shows it.
type Row = place.Row

// Source is a place with sessions on this machine.
type Source = place.Source

// ListOptions narrow Store.List.
type ListOptions = place.ListOptions

// Filter narrows a list of sessions. The zero value lets all through; conditions that are set must all hold.
type Filter struct {
	// Source is the name of a dialect, or the folder of a source.
	Source string
	// CWD is the working directory. Rows with an Err pass, since their working directory is unknown.
	CWD string
	// Since is the first moment that passes, Until the first that does not.
	Since, Until time.Time
	// Model matches a model that answered, Title the session's title in lists. Both are patterns with * and ?, without regard to
	// case; a Model without either only needs to occur in the model's name.
	Model, Title string
	// Has lists what a session must all have.
	Has index.Has
	// Run keeps only sessions that have a run.
	Run bool
}

// Needs reports whether the filter uses what only a catalogue knows.
func (f Filter) Needs() bool { return f.Model != "" || f.Has != 0 }

// RefreshOptions are for calls that bring the catalogue up to date.
type RefreshOptions = find.RefreshOptions

// PageOptions say which page of the catalogue to give. Its Filter is set by Store.Page, except for Project.
type PageOptions = find.ListOptions

// Page is a part of the catalogue.
type Page = find.Page

// Progress says how many logs and bytes have been read for the catalogue.
type Progress = find.Progress

// StatsOptions narrow Store.Stats.
type StatsOptions struct {
	// Filter chooses the sessions. In addition, Since and Until choose messages, to a quarter of an hour, and Model chooses answers.
	Filter Filter
	// By are the keys to group by; nil means all.
	By []StatsKey
	// Zone is the time zone of days; nil is the local one.
	Zone *time.Location
	// Refresh is for the catalogue, which is brought up to date first.
	Refresh RefreshOptions
}

// StatsKey is what statistics are grouped by.
type StatsKey = usage.Key

// What statistics are grouped by.
const (
	StatsByAgent   = usage.Agent
	StatsByModel   = usage.Model
	StatsByProject = usage.Project
	StatsByDay     = usage.Day
)

// Stats is what sessions used.
type Stats = usage.Report

// SearchOptions narrow a search.
type SearchOptions = find.Options

// SearchResult is what a search found.
type SearchResult = find.Result

// SearchHit is an entry that matched, a session whose title matched, or a record of a run.
type SearchHit = find.Hit

// WatchOptions say what is watched, and how.
type WatchOptions = watch.Options

// Change is what happened to a session that is watched.
type Change = watch.Change

// ChangeKind is the kind of a Change.
type ChangeKind = watch.Kind

// The kinds of changes.
const (
	ChangeStart     = watch.KindStart
	ChangeSession   = watch.KindSession
	ChangeEntry     = watch.KindEntry
	ChangeReplaced  = watch.KindReplaced
	ChangeTruncated = watch.KindTruncated
	ChangeRemoved   = watch.KindRemoved
	ChangeProblem   = watch.KindProblem
)

// Listener waits until sessions change; see Store.Listen.
type Listener = watch.Listener

// ConvertOptions say what a session is converted to.
type ConvertOptions = convert.Options

// ConvertReport says what became of everything in a session that was converted.
type ConvertReport = convert.Report

// RunOptions say what a new run is.
type RunOptions = runs.StartOptions

// RunListOptions narrow a list of runs.
type RunListOptions = runs.ListOptions

// RunRow is a run as a list shows it.
type RunRow = runs.Row

// Run is a run that is open for reading.
type Run = runs.Run

// Recording is a run that is being recorded.
type Recording = runs.Recording

// RepairOptions change what a repair does.
type RepairOptions = repair.Options

// RepairPlan says what a repair does, or did, to a log.
type RepairPlan = repair.Plan

// Secret is a key, a token or a password in a log. It does not hold the secret.
type Secret = repair.Secret

// NeededError is the error for a session that is not removed, because other sessions continue it.
type NeededError = trash.NeededError

// Trashed is a session in the trash.
type Trashed = trash.Item

// GCOptions say what garbage collection removes.
type GCOptions = trash.GCOptions

// GCReport says what garbage collection found.
type GCReport = trash.GCReport

// PushOptions say what is copied to an archive, and how.
type PushOptions = push.PushOptions

// PullOptions say what is copied from an archive, and where.
type PullOptions = push.PullOptions

// CopyReport says what was copied to an archive, or from it.
type CopyReport = push.Report

// CopyEvent says what became of one log that was copied.
type CopyEvent = push.Event
