// Package treeline is the session store for coding agents: append-only JSON Lines that form a tree.
//
// An agent embeds it instead of writing its own session manager. It reads and writes the agents' own formats, so the
// files still belong to the agents:
//
//	s, err := treeline.Create(ctx, treeline.CreateOptions{CWD: "/work/project"})
//	s.AppendUser(ctx, "hello")
//	c, err := s.Context(ctx, s.Leaf(), treeline.ContextOptions{})
//	for m, err := range c.Messages() { … }
//
// # Where to begin
//
// Create, Open, ContinueRecent, ForkFrom and InMemory give a Session of this machine. The comment of Session lists its methods by
// purpose; AppendUser, AppendAssistant and AppendToolResult write a turn in the format of any agent. Messages gives what
// the model sees, and NewRequest the body of the next request to a provider.
//
// New gives a Store for work on many sessions: Catalogue, Search, Stats and Watch; Convert and ResumeCommand; Check and
// Repair; Trash and Restore; Push and Pull. Options say where it looks, and which clock, environment and backends it uses.
//
// The types of most parameters and results are those of other packages, under names of this one. Package session has the model
// (Entry, Part, Tree, Context), package store the session that is written, package dialect the formats. docs/authors.md is a guide.
//
// # Errors
//
// Kinds of errors are variables such as ErrClosed, for errors.Is. A *RefusedError (errors.As) says that something looks like a mistake, a
// *VetoError that an Observer refused it. Errors of the operating system are wrapped: errors.Is(err, syscall.ENOSPC) is a full disk.
// What failed is not in the session. After an error of the log's storage, such as a full disk, every later append returns that error until the
// session is opened again; reading goes on. After any other error, one may append again.
//
// # What is promised
//
// Once an append has returned, it is never lost: not to a crash, a full disk or a second writer, as far as the requested
// Durability reaches. A file that cannot be read is never overwritten. Records, members and spellings that
// no program knows are kept byte for byte.
//
// # What an append survives
//
//	DurabilityNone    the end of the process
//	DurabilityFlush   the same; after Flush, Close and every rewrite also a crash of the machine (the default)
//	DurabilityAlways  a crash of the machine
package treeline
