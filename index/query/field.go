package query

// Field is the kind of a text of an entry, and a set of them.
type Field uint8

const (
	// FieldUser is text of the user.
	FieldUser Field = 1 << iota
	// FieldAssistant is text of the model.
	FieldAssistant
	// FieldTool is arguments and results of tools.
	FieldTool
	// FieldThinking is thinking of the model.
	FieldThinking
	// FieldOther is everything else: titles, labels, summaries, messages of the system and of extensions.
	FieldOther

	// FieldAll is all fields.
	FieldAll = FieldUser | FieldAssistant | FieldTool | FieldThinking | FieldOther
)

var fieldNames = [...]string{"user", "assistant", "tool", "thinking", "other"}

// String returns the name of one field.
func (f Field) String() string {
	for i, name := range fieldNames {
		if f == 1<<i {
			return name
		}
	}
	return "all"
}
