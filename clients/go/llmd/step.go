// Package llmd prunes requests in a step of llm-d's coordinator, before the prompt is rendered and a pod is chosen.
//
// It needs nothing of llm-d's: the step hands over what is in its RequestContext. A whole step is in the folder
// examples/gateways/llmd of this repository and on the page docs/integrations.md.
//
// Whatever goes wrong, the request goes on as it came: nothing here returns an error.
package llmd

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/gateway"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

// Step prunes requests and reports what became of them. It is safe for concurrent use.
type Step struct{ step gateway.Step }

// Request is what a step of llm-d finds in its RequestContext. Nothing of it is ever changed.
type Request struct {
	ID      string
	Path    string
	Headers http.Header
	Body    map[string]any
	Writer  http.ResponseWriter
}

// New makes a step. The limits hold for every call, under those of its headers; nil leaves them to the client and
// the server.
func New(client *pinch.Client, limits *pinchv1.Limits) *Step {
	return &Step{step: gateway.Step{Client: client, Limits: limits, Route: pinchv1.Route_ROUTE_PASSTHROUGH}}
}

// Prune gives the body and the writer to put in the place of those that came; when nothing was pruned the body is
// the very one that came. Through the writer the answer is read as it passes.
//
// What became of the request is reported when its context ends, which net/http sees to once the request is answered.
func (s *Step) Prune(ctx context.Context, request Request) (map[string]any, http.ResponseWriter) {
	headers := map[string]string{}
	for name, values := range request.Headers {
		if len(values) > 0 {
			headers[name] = values[0]
		}
	}
	call := s.step.Prune(ctx, gateway.Request{
		ID: request.ID, Path: request.Path, Headers: headers,
		Body: func() ([]byte, error) { return json.Marshal(request.Body) },
	})
	if !call.Decided() {
		return request.Body, request.Writer
	}
	answer := &answer{ResponseWriter: request.Writer, call: call}
	context.AfterFunc(ctx, answer.report)
	return shortened(request.Body, call), answer
}

// Wait waits for reports that are under way, none of which takes longer than the client's timeout.
func (s *Step) Wait() { s.step.Wait() }

// shortened is a body in which the conversation is the pruned one, all else being what came.
func shortened(body map[string]any, call *gateway.Call) map[string]any {
	if call.Body == nil {
		return body
	}
	key := "messages"
	switch call.Format {
	case pinchv1.Format_FORMAT_OPENAI_RESPONSES:
		key = "input"
	case pinchv1.Format_FORMAT_GEMINI:
		key = "contents"
	}
	var pruned map[string]any
	if json.Unmarshal(call.Body, &pruned) != nil {
		return body
	}
	made := maps.Clone(body)
	made[key] = pruned[key]
	return made
}
