package goose

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// The program parses contents into types. It stops with an error if a type is unknown, or if a content lacks a member that its type
// requires.

// required are the members of each type of content, with the first characters of the JSON values that the program accepts.
var required = []struct {
	typ     string
	members []string
	begins  string
}{
	{"text", []string{"text"}, `"`},
	{"image", []string{"data", "mimeType"}, `"`},
	{"document", []string{"data", "mimeType"}, `"`},
	{"toolRequest", []string{"id"}, `"`},
	{"toolResponse", []string{"id"}, `"`},
	{"toolConfirmationRequest", []string{"id", "toolName"}, `"`},
	{"actionRequired", []string{"data"}, "{"},
	{"thinking", []string{"thinking", "signature"}, `"`},
	{"redactedThinking", []string{"data"}, `"`},
	{"systemNotification", []string{"notificationType", "msg"}, `"`},
	{"error", []string{"kind", "message"}, `"`},
}

// blocks are the types of content in a tool's result.
var blocks = []string{"text", "image", "audio", "resource", "resource_link"}

// notices are the types of notifications.
var notices = []string{"thinkingMessage", "progressMessage", "inlineMessage", "creditsExhausted"}

// actions are the types of questions to the user, and of the answers.
var actions = []string{"toolConfirmation", "toolConfirmationResponse", "elicitation", "elicitationResponse"}

// unreadableRow returns what the program cannot read of a row; "" if it can read the row.
func unreadableRow(row []byte) string {
	content := rawjson.Get(row, "content_json")
	if !rawjson.IsArray(content) {
		return "the content of a message is not a list"
	}
	for c := range rawjson.Elements(content) {
		if why := violation(c); why != "" {
			return why
		}
	}
	return ""
}

// violation returns what the program cannot read of a content; "" if it can read the content.
func violation(c []byte) string {
	kind := typeOf(c)
	known := false
	for _, r := range required {
		if r.typ != kind {
			continue
		}
		known = true
		for _, member := range r.members {
			if value := rawjson.Get(c, member); len(value) == 0 || strings.IndexByte(r.begins, value[0]) < 0 {
				return "a content of the type " + kind + " has no valid " + member
			}
		}
	}
	valid := true
	switch kind {
	case "systemNotification":
		valid = slices.Contains(notices, rawjson.Str(c, "notificationType"))
	case "actionRequired":
		valid = slices.Contains(actions, rawjson.Str(rawjson.Get(c, "data"), "actionType"))
	case "toolRequest":
		valid = isOutcome(rawjson.Get(c, "toolCall"), func(value []byte) bool { return rawjson.IsString(rawjson.Get(value, "name")) })
	case "toolResponse":
		valid = isOutcome(rawjson.Get(c, "toolResult"), isGiven)
	}
	switch {
	case !known:
		return "a message has a content of the unknown type " + dialect.Shorten([]byte(kind))
	case !valid:
		return "a content of the type " + kind + " is not valid"
	}
	return ""
}

// isOutcome reports whether a value is a success with a valid value, or an error with a text.
func isOutcome(outcome []byte, valid func(value []byte) bool) bool {
	switch rawjson.Str(outcome, "status") {
	case "success":
		return valid(rawjson.Get(outcome, "value"))
	case "error":
		return rawjson.IsString(rawjson.Get(outcome, "error"))
	}
	return false
}

// isGiven reports whether a value is a valid result of a tool.
func isGiven(value []byte) bool {
	list := blocksOf(value)
	if !rawjson.IsArray(list) {
		return rawjson.Get(value, "structuredContent") != nil
	}
	for block := range rawjson.Elements(list) {
		if !slices.Contains(blocks, typeOf(block)) {
			return false
		}
	}
	return true
}
