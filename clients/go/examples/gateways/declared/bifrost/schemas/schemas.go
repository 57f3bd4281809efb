// Package schemas declares what the example names of Bifrost 1.4's package of this name, and nothing else of it.
package schemas

import "context"

// BifrostContextKey is the type of keys in a context.
type BifrostContextKey string

// BifrostContext is a request's context, in which hooks may keep values.
type BifrostContext struct {
	context.Context

	values map[any]any
}

// NewBifrostContext makes a context.
func NewBifrostContext(parent context.Context) *BifrostContext {
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

// BifrostStreamChunk is a piece of a streamed answer; of Bifrost's, the kinds of answers are embedded.
type BifrostStreamChunk struct {
	Model string         `json:"model,omitempty"`
	Usage map[string]int `json:"usage,omitempty"`
}
