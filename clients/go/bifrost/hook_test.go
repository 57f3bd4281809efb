package bifrost

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/protobuf/proto"
)

const chat = "/v1/chat/completions"

func TestMain(m *testing.M) { os.Exit(pinchtest.Main(m)) }

func hook(t *testing.T, address string, limits *pinchv1.Limits, timeout time.Duration) *Hook {
	t.Helper()
	client, err := pinch.New(address, pinch.WithTimeout(timeout))
	if err != nil {
		t.Fatal(err)
	}
	made := New(client, limits)
	t.Cleanup(func() {
		made.Wait()
		client.Close()
	})
	return made
}

// pruned prunes a long session, and holds that what came does not change.
func pruned(t *testing.T, hook *Hook) *Call {
	t.Helper()
	body := []byte(pinchtest.Session(6_000))
	kept := bytes.Clone(body)
	shorter, call := hook.Prune(context.Background(), chat, map[string]string{"X-Request-Id": t.Name()}, body)
	if !bytes.Equal(body, kept) || len(shorter) >= len(body) {
		t.Fatalf("%d bytes of %d", len(shorter), len(body))
	}
	return call
}

// A request is pruned by a real server, and the provider's counts are on record, cached tokens included.
func TestPrunesAndReportsWhatWasUsed(t *testing.T) {
	address := pinchtest.Real(t)
	pruned(t, hook(t, address, nil, time.Minute)).Answered(200, []byte(
		`{"model":"gpt","usage":{"prompt_tokens":90,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":70}}}`))
	stored := pinchtest.Reported(t, address)
	used := stored.GetUsage()
	if used.GetPromptTokens() != 90 || used.GetCachedTokens() != 70 || used.GetCompletionTokens() != 5 {
		t.Errorf("%v", used)
	}
	if stored.GetOutcome() != pinchv1.Outcome_OUTCOME_DISPATCHED || stored.GetSelectedModel() != "gpt" ||
		stored.GetRoute() != pinchv1.Route_ROUTE_ROUTED {
		t.Errorf("%v", stored)
	}
}

// Of a streamed answer the chunk that says what was used is reported.
func TestReportsAStream(t *testing.T) {
	address := pinchtest.Real(t)
	call := pruned(t, hook(t, address, nil, time.Minute))
	call.Streamed(map[string]any{"model": "gpt", "choices": []any{}})
	call.Streamed(make(chan int)) // cannot be written as JSON
	call.Streamed(map[string]any{"model": "gpt", "usage": map[string]int{"prompt_tokens": 90, "completion_tokens": 5}})
	stored := pinchtest.Reported(t, address)
	if stored.GetUsage().GetPromptTokens() != 90 || stored.GetOutcome() != pinchv1.Outcome_OUTCOME_DISPATCHED {
		t.Errorf("%v", stored)
	}
}

// A request that the provider refused is on record as failed.
func TestReportsAFailure(t *testing.T) {
	address := pinchtest.Real(t)
	pruned(t, hook(t, address, nil, time.Minute)).Answered(429, []byte(`{"error":{}}`))
	if stored := pinchtest.Reported(t, address); stored.GetOutcome() != pinchv1.Outcome_OUTCOME_FAILED {
		t.Errorf("%v", stored)
	}
}

// With Pinch down, hung or telling nonsense the very body that came goes on, and later hooks do nothing.
func TestFailsOpen(t *testing.T) {
	body := []byte(pinchtest.Session(1))
	hung := pinchtest.Script(t, pinchtest.Hang)
	nonsense := pinchtest.Script(t, pinchtest.Trim("what is not there", `"x"`), pinchtest.Hang)
	for name, address := range map[string]string{
		"down": "127.0.0.1:1", "hung": hung.Address, "nonsense": nonsense.Address,
	} {
		t.Run(name, func(t *testing.T) {
			same, call := hook(t, address, nil, 200*time.Millisecond).Prune(context.Background(), chat, nil, body)
			if &same[0] != &body[0] || len(same) != len(body) {
				t.Error("it is not the body that came")
			}
			call.Answered(200, body)
			call.Streamed(body)
		})
	}
}

// A request that asks for it, one whose headers are malformed, and one that is no conversation are not sent to Pinch.
func TestLeavesRequestsAlone(t *testing.T) {
	service := pinchtest.Script(t, pinchtest.Unchanged)
	asking := hook(t, service.Address, nil, time.Minute)
	body := []byte(`{"messages":[]}`)
	for _, one := range []struct{ path, header, text string }{
		{chat, "X-Pinch-Bypass", "true"},
		{chat, "x-pinch-budget-tokens", "lots"},
		{"/v1/embeddings", "", ""},
	} {
		same, call := asking.Prune(context.Background(), one.path, map[string]string{one.header: one.text}, body)
		call.Answered(200, nil)
		if &same[0] != &body[0] {
			t.Errorf("%+v", one)
		}
	}
	if _, call := asking.Prune(context.Background(), chat, nil, nil); call == nil {
		t.Error("no call for an empty body")
	}
	var none *Call
	none.Answered(200, body)
	none.Streamed(body)
	asking.Wait()
	if calls := service.Calls(); len(calls) != 0 {
		t.Errorf("%+v", calls)
	}
}

// What headers ask for reaches the server over the hook's own limits.
func TestHeedsHeaders(t *testing.T) {
	service := pinchtest.Script(t, pinchtest.Unchanged)
	limits := &pinchv1.Limits{BudgetTokens: proto.Int64(1), KeepLastTurns: proto.Int32(3)}
	hook(t, service.Address, limits, time.Minute).Prune(context.Background(), "/v1/messages", map[string]string{
		"x-pinch-budget-tokens": "2", "x-pinch-session-id": "s", "x-pinch-dry-run": "true", "x-pinch-route": "passthrough",
	}, []byte("{}"))
	got := service.Calls()[0].Request
	if got.GetLimits().GetBudgetTokens() != 2 || got.GetLimits().GetKeepLastTurns() != 3 || !got.GetDryRun() ||
		got.GetContext().GetSessionId() != "s" || got.GetContext().GetRoute() != pinchv1.Route_ROUTE_PASSTHROUGH ||
		got.GetBody().GetFormat() != pinchv1.Format_FORMAT_ANTHROPIC_MESSAGES {
		t.Errorf("%v", got)
	}
}
