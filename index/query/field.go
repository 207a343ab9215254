package query

// Field says whose text of an entry it is that matches. Fields are a set: those that a search looks at.
type Field uint8

const (
	// FieldUser is what the user said.
	FieldUser Field = 1 << iota
	// FieldAssistant is what the model said.
	FieldAssistant
	// FieldTool is what tools were called with, and what they answered.
	FieldTool
	// FieldThinking is what the model thought.
	FieldThinking
	// FieldOther is all else: titles, labels, summaries, messages of the system and of extensions.
	FieldOther

	// FieldAll is everything.
	FieldAll = FieldUser | FieldAssistant | FieldTool | FieldThinking | FieldOther
)

var fieldNames = [...]string{"user", "assistant", "tool", "thinking", "other"}

// String names one field.
func (f Field) String() string {
	for i, name := range fieldNames {
		if f == 1<<i {
			return name
		}
	}
	return "all"
}
