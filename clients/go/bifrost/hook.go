// Package bifrost prunes requests in a plugin of the Bifrost gateway, on its HTTP transport.
//
// It needs nothing of Bifrost's: the plugin's HTTP hooks hand over what they are given. A whole plugin is in the folder
// examples/gateways/bifrost of this repository and on the page docs/integrations.md.
//
// Whatever goes wrong, the request goes on as it came: nothing here returns an error.
package bifrost

import (
	"context"
	"encoding/json"
	"net/http"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/gateway"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

// Hook prunes requests and reports what became of them. It is safe for concurrent use.
type Hook struct{ step gateway.Step }

// Call is a request between the plugin's hooks, which keep it in their context.
type Call struct{ call *gateway.Call }

// New makes a hook. The limits hold for every call, under those of its headers; nil leaves them to the client and
// the server.
func New(client *pinch.Client, limits *pinchv1.Limits) *Hook {
	return &Hook{step: gateway.Step{Client: client, Limits: limits, Route: pinchv1.Route_ROUTE_ROUTED}}
}

// Prune is for HTTPTransportPreHook: it gives the body to put in the place of the one that came, which is that very
// body when nothing was pruned, and what the later hooks need. The path says whether it is a conversation and in
// which dialect; the headers x-pinch-* are heeded. Nothing that is passed in is changed.
func (h *Hook) Prune(ctx context.Context, path string, headers map[string]string, body []byte) ([]byte, *Call) {
	call := h.step.Prune(ctx, gateway.Request{
		Path: path, Headers: headers, Body: func() ([]byte, error) { return body, nil },
	})
	if call.Body == nil {
		return body, &Call{call}
	}
	return call.Body, &Call{call}
}

// Answered is for HTTPTransportPostHook: it reports the outcome, with what the answer says was used. It does not
// wait for the report. A nil call, of a request that was not looked at, is passed by.
func (c *Call) Answered(status int, body []byte) {
	if c == nil || !c.call.Decided() {
		return
	}
	c.call.Read(body)
	c.call.Report(status)
}

// Streamed is for HTTPTransportStreamChunkHook, which Bifrost calls in the place of the other for answers that are
// streamed: once a chunk says what was used, the outcome is reported. A chunk is written as JSON to find that out.
func (c *Call) Streamed(chunk any) {
	if c == nil || !c.call.Decided() {
		return
	}
	if text, err := json.Marshal(chunk); err == nil && c.call.ReadObject(text) {
		c.call.Report(http.StatusOK)
	}
}

// Wait is for the plugin's Cleanup, before it closes the client: it waits for reports that are under way, none of
// which takes longer than the client's timeout.
func (h *Hook) Wait() { h.step.Wait() }
