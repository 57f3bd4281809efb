// A Bifrost plugin that prunes: go build -buildmode=plugin -o pinch.so
package main

import (
	"os"
	"time"

	"github.com/maximhq/bifrost/core/schemas"
	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/bifrost"
)

const call schemas.BifrostContextKey = "pinch-call"

var (
	client *pinch.Client
	hook   *bifrost.Hook
)

func Init(config any) (err error) {
	if client, err = pinch.New(os.Getenv("PINCH_ADDRESS"), pinch.WithTimeout(500*time.Millisecond)); err == nil {
		hook = bifrost.New(client, nil)
	}
	return err
}

func GetName() string { return "pinch" }

func HTTPTransportPreHook(ctx *schemas.BifrostContext, req *schemas.HTTPRequest) (*schemas.HTTPResponse, error) {
	body, kept := hook.Prune(ctx, req.Path, req.Headers, req.Body)
	req.Body = body
	ctx.SetValue(call, kept)
	return nil, nil
}

func HTTPTransportPostHook(ctx *schemas.BifrostContext, _ *schemas.HTTPRequest, resp *schemas.HTTPResponse) error {
	kept, _ := ctx.Value(call).(*bifrost.Call)
	kept.Answered(resp.StatusCode, resp.Body)
	return nil
}

func HTTPTransportStreamChunkHook(
	ctx *schemas.BifrostContext, _ *schemas.HTTPRequest, chunk *schemas.BifrostStreamChunk,
) (*schemas.BifrostStreamChunk, error) {
	kept, _ := ctx.Value(call).(*bifrost.Call)
	kept.Streamed(chunk)
	return chunk, nil
}

func Cleanup() error {
	hook.Wait()
	return client.Close()
}

func main() {}
