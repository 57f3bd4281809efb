package pinch

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/protobuf/proto"
)

// applyByteEdits gives a copy of body with byte ranges replaced (C6, C8). Every edit is checked before the copy
// is made: a reply is used whole or not at all.
func applyByteEdits(body []byte, edits []*pinchv1.Edit) ([]byte, error) {
	size, position := int64(len(body)), int64(0)
	for number, edit := range edits {
		start, length := edit.GetOffset(), edit.GetLength()
		// Subtracted, not added: the sum of two hostile numbers may overflow.
		if start < 0 || start > size || length <= 0 || length > size-start {
			return nil, replyErrorf("edit %d replaces nothing, or leaves the body of %d bytes", number, size)
		}
		if start < position {
			return nil, replyErrorf("edit %d is out of order or overlaps the one before", number)
		}
		if !hashes(body[start:start+length], edit) {
			return nil, replyErrorf("edit %d was made for other bytes", number)
		}
		if replacement := edit.GetReplacement(); !utf8.Valid(replacement) || !json.Valid(replacement) {
			return nil, replyErrorf("edit %d puts something there that is no JSON value", number)
		}
		position = start + length
	}
	return splice(body, edits), nil
}

func splice(body []byte, edits []*pinchv1.Edit) []byte {
	size := len(body)
	for _, edit := range edits {
		size += len(edit.GetReplacement()) - int(edit.GetLength())
	}
	edited, position := make([]byte, 0, size), int64(0)
	for _, edit := range edits {
		edited = append(edited, body[position:edit.GetOffset()]...)
		edited = append(edited, edit.GetReplacement()...)
		position = edit.GetOffset() + edit.GetLength()
	}
	return append(edited, body[position:]...)
}

// applyPartEdits gives a new list in which content parts are replaced; it shares the untouched messages with the
// old one, which is never changed (C8).
func applyPartEdits(messages []*pinchv1.ChatMessage, edits []*pinchv1.Edit) ([]*pinchv1.ChatMessage, error) {
	edited := slices.Clone(messages)
	lastMessage, lastPart := int32(-1), int32(-1)
	for number, edit := range edits {
		message, part := edit.GetMessageIndex(), edit.GetPartIndex()
		if edit.PartIndex == nil || edit.GetReplacementPart().GetPart() == nil {
			return nil, replyErrorf("edit %d names no part or no replacement", number)
		}
		if message < lastMessage || message == lastMessage && part <= lastPart {
			return nil, replyErrorf("edit %d is out of order or repeats a part", number)
		}
		if message < 0 || int(message) >= len(messages) {
			return nil, replyErrorf("edit %d leaves the conversation of %d messages", number, len(messages))
		}
		content := messages[message].GetContent()
		if part < 0 || int(part) >= len(content) {
			return nil, replyErrorf("edit %d leaves its message of %d parts", number, len(content))
		}
		if !hashes(identity(content[part]), edit) {
			return nil, replyErrorf("edit %d was made for another part", number)
		}
		if message != lastMessage {
			edited[message] = proto.CloneOf(messages[message])
		}
		edited[message].Content[part] = edit.GetReplacementPart()
		lastMessage, lastPart = message, part
	}
	return edited, nil
}

func hashes(replaced []byte, edit *pinchv1.Edit) bool {
	digest := sha256.Sum256(replaced)
	return bytes.Equal(digest[:], edit.GetReplacedSha256())
}

// identity is the bytes by which an edit recognises the part that it replaces.
func identity(part *pinchv1.ContentPart) []byte {
	switch held := part.GetPart().(type) {
	case *pinchv1.ContentPart_Image:
		if data := held.Image.GetData(); len(data) > 0 {
			return data
		}
		return []byte(held.Image.GetUrl())
	case *pinchv1.ContentPart_OpaqueJson:
		return held.OpaqueJson
	default:
		return []byte(part.GetText())
	}
}
