package llmd

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

func TestMain(m *testing.M) { os.Exit(pinchtest.Main(m)) }

func step(t *testing.T, address string, timeout time.Duration) *Step {
	t.Helper()
	client, err := pinch.New(address, pinch.WithTimeout(timeout))
	if err != nil {
		t.Fatal(err)
	}
	made := New(client, nil)
	t.Cleanup(func() {
		made.Wait()
		client.Close()
	})
	return made
}

// through sends a body through a server that does as llm-d's coordinator: it reads the body, runs the step, and lets a
// reverse proxy stream the pod's answer.
func through(t *testing.T, step *Step, body string, pod http.HandlerFunc) string {
	t.Helper()
	behind := httptest.NewServer(pod)
	defer behind.Close()
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var parsed, kept map[string]any
		came, _ := io.ReadAll(request.Body)
		if json.Unmarshal(came, &parsed) != nil || json.Unmarshal(came, &kept) != nil {
			t.Error("the body is no JSON")
		}
		shorter, passing := step.Prune(request.Context(), Request{
			ID: t.Name(), Path: request.URL.Path, Headers: request.Header, Body: parsed, Writer: writer,
		})
		if !reflect.DeepEqual(parsed, kept) {
			t.Error("the body that came was changed")
		}
		sent, err := json.Marshal(shorter)
		if err != nil {
			t.Error(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.FlushInterval = -1
		onward := request.Clone(request.Context())
		onward.Body, onward.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
		proxy.ServeHTTP(passing, onward)
	}))
	defer front.Close()
	answer, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The pod gets the pruned body with all else as it came, the caller its streamed answer, and the record the counts.
func TestPrunesAndReportsWhatWasUsed(t *testing.T) {
	address, body := pinchtest.Real(t), pinchtest.Session(6_000)
	const said = "data: {\"model\":\"llama\",\"choices\":[]}\n\ndata: {\"model\":\"llama\",\"choices\":[],\"usage\":" +
		"{\"prompt_tokens\":90,\"completion_tokens\":5,\"prompt_tokens_details\":{\"cached_tokens\":70}}}\n\ndata: [DONE]\n\n"
	var got map[string]any
	var size int
	text := through(t, step(t, address, time.Minute), body, func(writer http.ResponseWriter, request *http.Request) {
		came, _ := io.ReadAll(request.Body)
		size = len(came)
		_ = json.Unmarshal(came, &got)
		writer.Header().Set("content-type", "text/event-stream")
		_, _ = io.WriteString(writer, said)
	})
	if text != said {
		t.Errorf("the caller got %q", text)
	}
	messages, _ := got["messages"].([]any)
	if size >= len(body) || got["n"] != 1.0 || got["model"] != "auto" || len(messages) != 19 {
		t.Errorf("the pod got %d bytes of %d, %d messages", size, len(body), len(messages))
	}
	stored := pinchtest.Reported(t, address)
	used := stored.GetUsage()
	if used.GetPromptTokens() != 90 || used.GetCachedTokens() != 70 || used.GetCompletionTokens() != 5 {
		t.Errorf("%v", used)
	}
	if stored.GetOutcome() != pinchv1.Outcome_OUTCOME_DISPATCHED || stored.GetSelectedModel() != "llama" ||
		stored.GetRoute() != pinchv1.Route_ROUTE_PASSTHROUGH {
		t.Errorf("%v", stored)
	}
}

// A pod's refusal reaches the caller and is on record as failed.
func TestReportsAFailure(t *testing.T) {
	address := pinchtest.Real(t)
	text := through(t, step(t, address, time.Minute), pinchtest.Session(1), func(writer http.ResponseWriter, _ *http.Request) {
		http.Error(writer, "no", http.StatusServiceUnavailable)
	})
	if stored := pinchtest.Reported(t, address); text != "no\n" || stored.GetOutcome() != pinchv1.Outcome_OUTCOME_FAILED {
		t.Errorf("%q, %v", text, stored)
	}
}

// A body of OpenAI's Responses is pruned where its conversation stands.
func TestPrunesResponses(t *testing.T) {
	service := pinchtest.Script(t, pinchtest.Trim(`"long"`, `"short"`))
	body := map[string]any{"input": []any{map[string]any{"output": "long"}}, "messages": "kept"}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	got, _ := step(t, service.Address, time.Minute).Prune(ctx, Request{
		Path: "/v1/responses", Body: body, Writer: httptest.NewRecorder(),
	})
	want := map[string]any{"input": []any{map[string]any{"output": "short"}}, "messages": "kept"}
	if !reflect.DeepEqual(got, want) || reflect.DeepEqual(body, want) {
		t.Errorf("%v of %v", got, body)
	}
}

// With Pinch down or hung, a request that asks to be left alone, or a body that is no JSON, what came goes on itself.
func TestFailsOpen(t *testing.T) {
	hung := pinchtest.Script(t, pinchtest.Hang)
	body := map[string]any{"messages": []any{}}
	for name, one := range map[string]struct {
		address string
		body    map[string]any
		headers http.Header
	}{
		"down":      {"127.0.0.1:1", body, nil},
		"hung":      {hung.Address, body, nil},
		"bypass":    {hung.Address, body, http.Header{"X-Pinch-Bypass": {"true"}}},
		"malformed": {hung.Address, body, http.Header{"X-Pinch-Budget-Tokens": {"lots"}, "X-Empty": nil}},
		"no JSON":   {hung.Address, map[string]any{"messages": make(chan int)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			writer := httptest.NewRecorder()
			same, passing := step(t, one.address, 200*time.Millisecond).Prune(context.Background(), Request{
				Path: "/v1/chat/completions", Headers: one.headers, Body: one.body, Writer: writer,
			})
			if reflect.ValueOf(same).Pointer() != reflect.ValueOf(one.body).Pointer() || passing != writer {
				t.Errorf("%v", same)
			}
		})
	}
}
