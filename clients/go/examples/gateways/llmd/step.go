// Package prune is a step of llm-d's coordinator: import it beside its own steps, and name it before "render".
package prune

import (
	"context"
	"errors"
	"time"

	"github.com/llm-d/llm-d-router/pkg/coordinator/gateway"
	"github.com/llm-d/llm-d-router/pkg/coordinator/pipeline"
	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/llmd"
)

type step struct{ pinch *llmd.Step }

func init() { pipeline.Register("pinch", made) }

func made(_ *gateway.Client, params map[string]any) (pipeline.Step, error) {
	address, is := params["address"].(string)
	if !is {
		return nil, errors.New("pinch: the parameter address must be the service's, such as 127.0.0.1:50051")
	}
	client, err := pinch.New(address, pinch.WithTimeout(500*time.Millisecond))
	if err != nil {
		return nil, err
	}
	return step{llmd.New(client, nil)}, nil
}

func (step) Name() string { return "pinch" }

func (s step) Execute(ctx context.Context, request *pipeline.RequestContext) error {
	request.Body, request.ResponseWriter = s.pinch.Prune(ctx, llmd.Request{
		ID:      request.RequestID,
		Path:    request.OriginalPath,
		Headers: request.OriginalHeaders,
		Body:    request.Body,
		Writer:  request.ResponseWriter,
	})
	return nil
}
