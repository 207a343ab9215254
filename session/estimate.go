package session

// Estimate guesses how many tokens parts of a message are. Tokenizers differ between models and are not part of a session,
// so this is a rule of thumb:
//
//   - a token is four Latin characters, digits or signs, two characters of other alphabets, or one of a script without spaces;
//   - an image is 1,200 tokens;
//   - signatures and ids count, names of members do not.
//
// It leaves out the system prompt and the tools, which most agents do not record.
func Estimate(parts []Part) int64 {
	quarters := int64(0)
	for _, p := range parts {
		switch p := p.(type) {
		case Text:
			quarters += quartersOf(p.Text)
		case Thinking:
			quarters += quartersOf(p.Text) + quartersOf(p.Signature)
		case ToolCall:
			quarters += quartersOf(p.ID) + quartersOf(p.Name) + quartersOf(p.Arguments)
		case ToolResult:
			quarters += quartersOf(p.CallID) + 4*Estimate(p.Parts)
		case Image:
			quarters += 4 * imageTokens
		case OpaquePart:
			quarters += quartersOf(p.JSON)
		}
	}
	return (quarters + 3) / 4
}

const imageTokens = 1200

// quartersOf counts the quarters of tokens in a text, from the first byte of each character.
func quartersOf[T ~string | ~[]byte](text T) (n int64) {
	for i := range len(text) {
		switch b := text[i]; {
		case b < 0x80, b >= 0xc2 && b < 0xca: // up to U+027F, Latin
			n++
		case b >= 0xca && b < 0xe2, b == 0xe2 && i+1 < len(text) && text[i+1] < 0xba: // up to U+2E7F
			n += 2
		case b >= 0xe2:
			n += 4
		}
	}
	return n
}
