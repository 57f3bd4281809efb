package prune

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llm-d/llm-d-router/pkg/coordinator/gateway"
	"github.com/llm-d/llm-d-router/pkg/coordinator/pipeline"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"github.com/spf13/viper"
)

// shown is the pipeline of docs/integrations.md.
var shown = regexp.MustCompile("(?s)```yaml\n(# llm-d's pipeline\n.*?)```")

// render stands where llm-d's own step of this type does, and keeps the body that it would tokenise.
type render struct{ body map[string]any }

func (*render) Name() string { return "render" }

func (r *render) Execute(_ context.Context, request *pipeline.RequestContext) error {
	r.body = request.Body
	return nil
}

// documented is the page's pipeline, read as the coordinator reads its configuration, with another address.
func documented(t *testing.T, address string) ([]pipeline.Step, error) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(pinchtest.Root(t), "docs", "integrations.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := shown.FindSubmatch(page)
	if found == nil || strings.Count(string(found[1]), "127.0.0.1:50051") != 1 {
		t.Fatal("the page shows no pipeline with one address")
	}
	config := viper.New()
	config.SetConfigType("yaml")
	if err := config.ReadConfig(strings.NewReader(strings.Replace(string(found[1]), "127.0.0.1:50051", address, 1))); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Pipeline struct {
			Steps []struct {
				Type   string
				Params map[string]any
			}
		}
	}
	if err := config.UnmarshalExact(&read); err != nil {
		t.Fatal(err)
	}
	var steps []pipeline.Step
	for _, step := range read.Pipeline.Steps {
		made, err := pipeline.Build(step.Type, &gateway.Client{}, step.Params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.Type, err)
		}
		steps = append(steps, made)
	}
	return steps, nil
}

// through runs a request through the page's pipeline; it returns the length of the body that is rendered.
func through(t *testing.T, address, body string) int {
	t.Helper()
	rendered := &render{}
	pipeline.Register("render", func(*gateway.Client, map[string]any) (pipeline.Step, error) { return rendered, nil })
	steps, err := documented(t, address)
	if err != nil {
		t.Fatal(err)
	}
	request := &pipeline.RequestContext{
		RequestID: t.Name(), OriginalPath: "/v1/chat/completions", ResponseWriter: httptest.NewRecorder(),
	}
	if err := json.Unmarshal([]byte(body), &request.Body); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if err := step.Execute(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(rendered.body)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// The page's pipeline prunes a request before it is rendered, and hands it on whole without a Pinch service.
func TestThePipelineOfThePage(t *testing.T) {
	address, body := pinchtest.Real(t), pinchtest.Session(6_000)
	if size := through(t, address, body); size >= len(body)/2 {
		t.Errorf("%d bytes of %d are rendered", size, len(body))
	}
	same := strings.Replace(pinchtest.Session(1), "1.0", "1", 1) // as Go writes it again
	if size := through(t, "127.0.0.1:1", same); size != len(same) {
		t.Errorf("%d bytes of %d are rendered without Pinch", size, len(same))
	}
}
