// Package schemas declares what the example names of Bifrost 1.4's package of this name, and nothing else of it.
package schemas

import (
	"context"
	"encoding/json"
	"time"
)

// NoDeadline is the deadline of a context that has none.
var NoDeadline time.Time

// BifrostContextKey is the type of keys in a context.
type BifrostContextKey string

// BifrostContext is a request's context, in which hooks may keep values.
type BifrostContext struct {
	context.Context

	values map[any]any
}

// NewBifrostContext makes a context. Bifrost's ends at its deadline; the tests set none.
func NewBifrostContext(parent context.Context, _ time.Time) *BifrostContext {
	return &BifrostContext{Context: parent, values: map[any]any{}}
}

// SetValue keeps a value.
func (c *BifrostContext) SetValue(key, value any) { c.values[key] = value }

// Value gives a value.
func (c *BifrostContext) Value(key any) any {
	if kept, is := c.values[key]; is {
		return kept
	}
	return c.Context.Value(key)
}

// HTTPRequest is a request on the HTTP transport.
type HTTPRequest struct {
	Method     string
	Path       string
	Headers    map[string]string
	Query      map[string]string
	Body       []byte
	PathParams map[string]string
}

// HTTPResponse is an answer on the HTTP transport.
type HTTPResponse struct {
	StatusCode int
	Headers    map[string]string
	Body       []byte
}

// BifrostStreamChunk is a piece of a streamed answer, of one of several kinds.
type BifrostStreamChunk struct {
	*BifrostChatResponse
}

// MarshalJSON writes the kind that it is.
func (c BifrostStreamChunk) MarshalJSON() ([]byte, error) { return json.Marshal(c.BifrostChatResponse) }

// BifrostChatResponse is an answer to a chat, or a piece of one.
type BifrostChatResponse struct {
	ID    string           `json:"id"`
	Model string           `json:"model"`
	Usage *BifrostLLMUsage `json:"usage"`
}

// BifrostLLMUsage is what an answer says was used.
type BifrostLLMUsage struct {
	PromptTokens     int `json:"prompt_tokens,omitempty"`
	CompletionTokens int `json:"completion_tokens,omitempty"`
	TotalTokens      int `json:"total_tokens"`
}
