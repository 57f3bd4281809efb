// Package pipeline declares what the example names of llm-d's package of this name, and nothing else of it.
package pipeline

import (
	"context"
	"fmt"
	"net/http"

	"github.com/llm-d/llm-d-router/pkg/coordinator/gateway"
)

// RequestContext is a request on its way through the steps.
type RequestContext struct {
	RequestID       string
	OriginalPath    string
	OriginalHeaders http.Header
	OriginalBody    []byte
	Body            map[string]any
	ResponseWriter  http.ResponseWriter
}

// Step is a step.
type Step interface {
	Name() string
	Execute(ctx context.Context, request *RequestContext) error
}

// Factory makes a step from its parameters in the configuration.
type Factory func(client *gateway.Client, params map[string]any) (Step, error)

var factories = map[string]Factory{}

// Register makes a type of step known.
func Register(name string, factory Factory) { factories[name] = factory }

// Build makes a step of a type.
func Build(name string, client *gateway.Client, params map[string]any) (Step, error) {
	factory, is := factories[name]
	if !is {
		return nil, fmt.Errorf("no step is of the type %q", name)
	}
	return factory(client, params)
}
