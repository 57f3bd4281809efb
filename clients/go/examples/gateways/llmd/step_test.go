package prune

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/llm-d/llm-d-router/pkg/coordinator/pipeline"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
)

func TestMain(m *testing.M) { os.Exit(pinchtest.Main(m)) }

// executed runs the step as the coordinator does, until the request is answered; it returns the length of the body.
func executed(t *testing.T, address, body, answer string) (int, *httptest.ResponseRecorder) {
	t.Helper()
	made, err := pipeline.Build("pinch", nil, map[string]any{"address": address})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	recorder := httptest.NewRecorder()
	request := &pipeline.RequestContext{
		RequestID: t.Name(), OriginalPath: "/v1/chat/completions", ResponseWriter: recorder,
	}
	if err := json.Unmarshal([]byte(body), &request.Body); err != nil {
		t.Fatal(err)
	}
	if err := made.Execute(ctx, request); err != nil {
		t.Fatal(err)
	}
	if _, err := request.ResponseWriter.Write([]byte(answer)); err != nil {
		t.Error(err)
	}
	cancel()
	sent, err := json.Marshal(request.Body)
	if err != nil {
		t.Fatal(err)
	}
	return len(sent), recorder
}

// The step prunes a request, passes the answer on, and reports what it says was used.
func TestStep(t *testing.T) {
	address, body := pinchtest.Real(t), pinchtest.Session(6_000)
	const said = `{"usage":{"prompt_tokens":90}}`
	size, recorder := executed(t, address, body, said)
	used := pinchtest.Reported(t, address).GetUsage()
	if size >= len(body) || recorder.Body.String() != said || used.GetPromptTokens() != 90 {
		t.Errorf("%d bytes of %d, %s, %v", size, len(body), recorder.Body, used)
	}
}

// Without a Pinch service the request goes on as it came; without its address there is no step.
func TestStepWithoutPinch(t *testing.T) {
	body := strings.Replace(pinchtest.Session(1), "1.0", "1", 1) // as Go writes it again
	if size, recorder := executed(t, "127.0.0.1:1", body, "said"); size != len(body) || recorder.Body.String() != "said" {
		t.Errorf("%d bytes of %d, %s", size, len(body), recorder.Body)
	}
	if made, err := pipeline.Build("pinch", nil, nil); err == nil {
		t.Errorf("%v", made)
	}
}
