package main

import (
	"context"
	"os"
	"testing"

	"github.com/maximhq/bifrost/core/schemas"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
)

func TestMain(m *testing.M) { os.Exit(pinchtest.Main(m)) }

// request goes through the plugin's hooks as Bifrost calls them; it returns what the provider gets.
func request(t *testing.T, address, body string, answered func(*schemas.BifrostContext, *schemas.HTTPRequest)) string {
	t.Helper()
	t.Setenv("PINCH_ADDRESS", address)
	if err := Init(nil); err != nil {
		t.Fatal(err)
	}
	ctx := schemas.NewBifrostContext(context.Background(), schemas.NoDeadline)
	req := &schemas.HTTPRequest{
		Path: "/v1/chat/completions", Headers: map[string]string{"X-Request-Id": t.Name()}, Body: []byte(body),
	}
	if short, err := HTTPTransportPreHook(ctx, req); short != nil || err != nil {
		t.Fatalf("%v, %v", short, err)
	}
	answered(ctx, req)
	if err := Cleanup(); err != nil {
		t.Error(err)
	}
	return string(req.Body)
}

// The plugin prunes a request, and reports what the answer says was used.
func TestPlugin(t *testing.T) {
	address, body := pinchtest.Real(t), pinchtest.Session(6_000)
	sent := request(t, address, body, func(ctx *schemas.BifrostContext, req *schemas.HTTPRequest) {
		answer := &schemas.HTTPResponse{StatusCode: 200, Body: []byte(`{"usage":{"prompt_tokens":90}}`)}
		if err := HTTPTransportPostHook(ctx, req, answer); err != nil {
			t.Error(err)
		}
	})
	used := pinchtest.Reported(t, address).GetUsage()
	if len(sent) >= len(body) || used.GetPromptTokens() != 90 {
		t.Errorf("%d bytes of %d, %v", len(sent), len(body), used)
	}
}

// Of a streamed answer every chunk goes on as it is, and the counts are reported.
func TestPluginOfAStream(t *testing.T) {
	address := pinchtest.Real(t)
	request(t, address, pinchtest.Session(1), func(ctx *schemas.BifrostContext, req *schemas.HTTPRequest) {
		for _, usage := range []*schemas.BifrostLLMUsage{nil, {PromptTokens: 90, TotalTokens: 97}} {
			said := &schemas.BifrostChatResponse{Model: "m", Usage: usage}
			chunk := &schemas.BifrostStreamChunk{BifrostChatResponse: said}
			if same, err := HTTPTransportStreamChunkHook(ctx, req, chunk); same != chunk || err != nil {
				t.Errorf("%v, %v", same, err)
			}
		}
	})
	if used := pinchtest.Reported(t, address).GetUsage(); used.GetPromptTokens() != 90 {
		t.Errorf("%v", used)
	}
}

// Without a Pinch service the request goes on as it came.
func TestPluginWithoutPinch(t *testing.T) {
	body := pinchtest.Session(1)
	if sent := request(t, "127.0.0.1:1", body, func(ctx *schemas.BifrostContext, req *schemas.HTTPRequest) {
		if err := HTTPTransportPostHook(ctx, req, &schemas.HTTPResponse{StatusCode: 200}); err != nil {
			t.Error(err)
		}
	}); sent != body {
		t.Errorf("%d bytes of %d", len(sent), len(body))
	}
}
