package session

import "iter"

// Joiner is an EntryCodec of logs that spread one message over several records: Envelope.Message says which belong
// together. A context shows such a message once, where its first entry on the path stands.
type Joiner interface {
	// Join makes one message of those that EntryCodec.Messages gives for the entries of it on the path, in path order.
	// There are at least two.
	Join(messages [][]byte) ([]byte, error)
}

// Navigator is an EntryCodec that chooses leaf and path itself, for formats in which they do not follow from parents and
// file order alone. Only the codec of a tree is asked, so a decoder may give its Builder a codec that holds what
// it learned about this one log. Positions are those of Tree.At. A log of such a format is read from its beginning.
type Navigator interface {
	// Leaf gives the position of the leaf, -1 for the place before the first entry. leaf is the one that the model
	// would choose. It is asked by Builder.Finish when entries were added.
	Leaf(t *Tree, leaf int) int
	// Path gives the positions on the path to an entry, the root first, none twice.
	Path(t *Tree, to int) []int
}

// Replayer is an EntryCodec that turns a path into messages itself, for formats in which messages are folded, merged,
// reordered or made up. Compactions, context edits, joined records and EntryCodec.Messages are then its own concern.
type Replayer interface {
	// Replay gives the messages that the model sees at the end of the path, each with the entry that it comes from, or
	// the zero Entry. It may be called more than once and stops at the first error.
	Replay(p Path) iter.Seq2[ContextMessage, error]
}
