package pinch_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Every vector comes out of a real server as it says.
func TestC6Vectors(t *testing.T) { meetExpectations(t, pinchtest.Vectors(t)) }

// Every reported fault comes out of a real server as it says.
func TestC6Cases(t *testing.T) { meetExpectations(t, pinchtest.Cases(t)) }

func meetExpectations(t *testing.T, vectors []pinchtest.Vector) {
	client := connect(t, pinchtest.Real(t), pinch.WithStrict())
	for _, vector := range vectors {
		t.Run(vector.Name, func(t *testing.T) {
			body := bytes.Clone(vector.Body)
			result, err := client.PruneBody(context.Background(), vector.Format, body, pinch.WithLimits(vector.Limits))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(body, vector.Body) {
				t.Fatal("the body was changed")
			}
			if !result.Pruned && &result.Body[0] != &body[0] || result.Pruned == bytes.Equal(result.Body, body) {
				t.Errorf("pruned is %t: %s", result.Pruned, result.Body)
			}
			for _, problem := range vector.Expect.Violations(result.Body, result.Pruned, result.Reply) {
				t.Error(problem)
			}
		})
	}
}

// What a server for tests spoils is refused, in either form, with the slug that the contract names.
func TestC1FaultsOnRequest(t *testing.T) {
	address := pinchtest.Real(t)
	long := &pinchv1.Limits{BudgetTokens: proto.Int64(100), KeepLastTurns: proto.Int32(1)}
	body, messages := session()
	for _, fault := range []struct{ name, value, reason string }{
		{"edits", "wrong-range", "invalid_reply"},
		{"edits", "negative", "invalid_reply"},
		{"edits", "overflow", "invalid_reply"},
		{"edits", "nothing", "invalid_reply"},
		{"edits", "overlapping", "invalid_reply"},
		{"edits", "descending", "invalid_reply"},
		{"edits", "wrong-hash", "invalid_reply"},
		{"edits", "short-hash", "invalid_reply"},
		{"edits", "no-hash", "invalid_reply"},
		{"edits", "not-json", "invalid_reply"},
		{"edits", "not-utf8", "invalid_reply"},
		{"edits", "no-replacement", "invalid_reply"},
		{"reply", "truncated", "internal"},
		{"reply", "noise", "internal"},
		{"reply", "oversized", "resource_exhausted"},
		{"status", "INVALID_ARGUMENT", "invalid_argument"},
		{"status", "UNAVAILABLE", "unavailable"},
		{"none", "", ""},
	} {
		t.Run(fault.name+"-"+fault.value, func(t *testing.T) {
			options := []pinch.Option{pinch.WithLimits(long)}
			if fault.reason != "" {
				options = append(options, pinch.WithMetadata("pinch-test-"+fault.name, fault.value))
			}
			client := connect(t, address, options...)
			result, _ := pruneBody(t, client, body)
			if result.Reason != fault.reason {
				t.Errorf("body: %q, %v", result.Reason, result.Err)
			}
			typed, _ := client.Prune(context.Background(), messages)
			if typed.Reason != fault.reason || !typed.Pruned && &typed.Body[0] != &messages[0] {
				t.Errorf("typed: %q, %v", typed.Reason, typed.Err)
			}
		})
	}
}

// A dry run that a real server answers with an edit that fits is refused.
func TestC6MadeUpEditInADryRun(t *testing.T) {
	client := connect(t, pinchtest.Real(t), pinch.WithMetadata("pinch-test-edits", "made-up"))
	body, _ := session()
	result, _ := pruneBody(t, client, body, pinch.WithDryRun())
	expectReplyError(t, result.Err)
}

// A body that is no JSON gives INVALID_ARGUMENT and comes back as it is.
func TestC1InvalidArgumentFailsOpen(t *testing.T) {
	result, err := pruneBody(t, connect(t, pinchtest.Real(t)), []byte(`{"messages":`))
	if err != nil || result.Reason != "invalid_argument" {
		t.Errorf("%v, %+v", err, result)
	}
	expectCode(t, result.Err, codes.InvalidArgument)
}

// A real server that is slower than the deadline costs the deadline.
func TestC1SlowServerFailsOpen(t *testing.T) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "pinch-test-delay-ms", "3600000")
	client := connect(t, pinchtest.Real(t), pinch.WithTimeout(short))
	result, err := client.PruneOpenAI(ctx, []byte(sent))
	if err != nil || result.Reason != "deadline_exceeded" || string(result.Body) != sent {
		t.Errorf("%v, %+v", err, result)
	}
}

// One UNAVAILABLE is got over, two are not, and one INTERNAL is not.
func TestC3RetryAgainstAServer(t *testing.T) {
	client := connect(t, pinchtest.Real(t))
	for name, fault := range map[string]struct{ status, times, reason string }{
		"one UNAVAILABLE": {"UNAVAILABLE", "1", "within_budget"},
		"two UNAVAILABLE": {"UNAVAILABLE", "2", "unavailable"},
		"one INTERNAL":    {"INTERNAL", "1", "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := metadata.AppendToOutgoingContext(context.Background(), "pinch-test-status", fault.status,
				"pinch-test-times", fault.times, "pinch-test-key", rand.Text())
			if result, err := client.PruneOpenAI(ctx, []byte(sent)); err != nil || result.Reason != fault.reason {
				t.Errorf("%v, %+v", err, result)
			}
		})
	}
}

// A thousand calls at once through one client each get their own conversation back, and each its own decision.
func TestC5AThousandCallsAtOnce(t *testing.T) {
	const calls = 1000
	client := connect(t, pinchtest.Real(t), pinch.WithLimits(&pinchv1.Limits{
		BudgetTokens: proto.Int64(100), KeepLastTurns: proto.Int32(1),
	}))
	results := make([]pinch.Result[[]byte], calls)
	bodies := make([][]byte, calls)
	var group sync.WaitGroup
	for number := range calls {
		whole, _ := session()
		bodies[number] = bytes.Replace(whole, []byte("read it"), fmt.Appendf(nil, "read it, caller %d", number), 1)
		group.Go(func() {
			results[number], _ = client.PruneOpenAI(context.Background(), bodies[number])
		})
	}
	group.Wait()
	decisions := map[string]bool{}
	for number, result := range results {
		if !result.Pruned || !bytes.Contains(result.Body, fmt.Appendf(nil, "caller %d\"", number)) {
			t.Fatalf("call %d: %q, %v", number, result.Reason, result.Err)
		}
		decisions[result.Reply.GetDecisionId()] = true
	}
	if len(decisions) != calls {
		t.Errorf("%d decisions", len(decisions))
	}
}

// The turn frame and the measured size come with the reply, and the outcome of a decision is held.
func TestC9WholeWay(t *testing.T) {
	client := connect(t, pinchtest.Real(t), pinch.WithStrict())
	body, _ := session()
	result, err := client.PruneBody(context.Background(), pinchv1.Format_FORMAT_UNSPECIFIED, body)
	if err != nil {
		t.Fatal(err)
	}
	if frame := result.Reply.GetTurnFrame(); frame.GetMessage() != "thanks" || frame.GetPreviousContext() == "" {
		t.Errorf("%v", frame)
	}
	if result.Reply.GetMeasured().GetTokens() == 0 || result.Reply.GetFormat() != pinchv1.Format_FORMAT_OPENAI_CHAT {
		t.Errorf("%v", result.Reply)
	}
	held, err := client.ReportOutcome(context.Background(), &pinchv1.ReportOutcomeRequest{
		DecisionId: result.Reply.GetDecisionId(), Outcome: pinchv1.Outcome_OUTCOME_DISPATCHED,
	})
	if err != nil || !held {
		t.Errorf("%v, %v", held, err)
	}
}

// A real server on a unix socket is reached like any other.
func TestC7UnixSocketOfAServer(t *testing.T) {
	server := pinchtest.Start(t, "--listen", "unix:"+filepath.Join(t.TempDir(), "s"))
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if result, _ := prune(t, connect(t, server.Address)); result.Reason != "within_budget" {
		t.Errorf("%+v", result)
	}
}

// session is a conversation with two long results in old turns, as a body and as typed messages.
func session() ([]byte, []*pinchv1.ChatMessage) {
	said, messages := []string{}, []*pinchv1.ChatMessage{}
	for number := range 2 {
		id, result := fmt.Sprintf("call_%d", number), strings.Repeat(fmt.Sprintf("line %d of it. ", number), 400)
		said = append(said, `{"role":"user","content":"read it"}`, fmt.Sprintf(
			`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":"read","arguments":"{}"}}]}`,
			id), fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, result))
		asked := &pinchv1.ChatMessage{Role: "assistant"}
		asked.ToolCalls = []*pinchv1.ToolCall{{Id: id, Name: "read", Arguments: "{}"}}
		answered := text("tool", result)
		answered.ToolCallId = id
		messages = append(messages, text("user", "read it"), asked, answered)
	}
	said = append(said, `{"role":"assistant","content":"done"}`, `{"role":"user","content":"thanks"}`)
	messages = append(messages, text("assistant", "done"), text("user", "thanks"))
	return []byte(`{"model":"m","messages":[` + strings.Join(said, ",") + `]}`), messages
}
