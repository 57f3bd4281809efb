package pinch_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Without a word from the caller a call has 2 seconds.
func TestC2EveryCallHasADeadline(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	client, err := pinch.New(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, _ = prune(t, client)
	left := server.Calls()[0].TimeLeft
	if left <= 0 || left > pinch.DefaultTimeout || pinch.DefaultTimeout != 2*time.Second {
		t.Errorf("%s are left", left)
	}
}

// The sooner of the context's deadline and the timeout holds; a call may have a timeout of its own.
func TestC2TheSoonerDeadlineHolds(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	client := connect(t, server.Address, pinch.WithTimeout(time.Hour))
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	_, _ = client.PruneOpenAI(ctx, []byte(sent))
	_, _ = client.PruneOpenAI(context.Background(), []byte(sent), pinch.WithTimeout(2*patient))
	_, _ = client.PruneOpenAI(context.Background(), []byte(sent))
	for place, most := range []time.Duration{patient, 2 * patient, time.Hour} {
		if left := server.Calls()[place].TimeLeft; left <= most/2 || left > most {
			t.Errorf("call %d: %s are left, not %s", place, left, most)
		}
	}
}

// A call that has no time left is not an error of the caller.
func TestC2NoTimeLeftFailsOpen(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	for _, timeout := range []time.Duration{0, -1} {
		err := failsOpen(t, connect(t, server.Address), pinch.WithTimeout(timeout))
		expectCode(t, err, codes.DeadlineExceeded)
	}
}

// After one UNAVAILABLE the second attempt's reply is used, and its deadline is the first one's.
func TestC3UnavailableIsTriedOnceMore(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Fail(codes.Unavailable, "draining"), pinchtest.Trim(before, after))
	result, _ := prune(t, connect(t, server.Address))
	calls := server.Calls()
	if !result.Pruned || len(calls) != 2 {
		t.Fatalf("%+v after %d attempts", result, len(calls))
	}
	if calls[1].TimeLeft > patient {
		t.Error("the second attempt has a deadline of its own")
	}
}

// There is no third attempt.
func TestC3UnavailableTwiceIsTheEnd(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Fail(codes.Unavailable, "draining"))
	expectCode(t, failsOpen(t, connect(t, server.Address)), codes.Unavailable)
	if calls := len(server.Calls()); calls != 2 {
		t.Errorf("%d attempts", calls)
	}
}

// UNAVAILABLE that comes when the context has ended is not tried again.
func TestC3NoSecondAttemptForNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server := pinchtest.Script(t, func(context.Context, *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
		cancel()
		return pinchtest.Fail(codes.Unavailable, "draining")(ctx, nil)
	})
	result, _ := connect(t, server.Address).PruneOpenAI(ctx, []byte(sent))
	if result.Err == nil || len(server.Calls()) != 1 {
		t.Errorf("%v after %d attempts", result.Err, len(server.Calls()))
	}
}

// Any other status ends the call at once.
func TestC3NothingElseIsTriedAgain(t *testing.T) {
	for code, name := range failures {
		if code == codes.Unavailable {
			continue
		}
		t.Run(name, func(t *testing.T) {
			server := pinchtest.Script(t, pinchtest.Fail(code, ""))
			if err := failsOpen(t, connect(t, server.Address)); err.Error() != name {
				t.Errorf("the reason is %q", err)
			}
			if calls := len(server.Calls()); calls != 1 {
				t.Errorf("%d attempts", calls)
			}
		})
	}
}

// Messages far over gRPC's own limit of 4 MiB travel both ways.
func TestC4SixteenMegabytesGoBothWays(t *testing.T) {
	long := func(letter string) string { return `"` + strings.Repeat(letter, 16<<20) + `"` }
	server := pinchtest.Script(t, pinchtest.Trim(long("o"), long("n")))
	client := connect(t, server.Address, pinch.WithStrict())
	result, err := pruneBody(t, client, []byte("["+long("o")+"]"))
	if err != nil || string(result.Body) != "["+long("n")+"]" {
		t.Fatal(err)
	}
}

// A body over 64 MiB comes back as it is and does not travel.
func TestC4OversizedBodyFailsOpen(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	body := bytes.Repeat([]byte(" "), pinch.MessageLimit+1)
	result, _ := pruneBody(t, connect(t, server.Address), body)
	expectCode(t, result.Err, codes.ResourceExhausted)
	if len(server.Calls()) != 0 {
		t.Error("the server was asked")
	}
}

// A reply over 64 MiB is not taken.
func TestC4OversizedReplyFailsOpen(t *testing.T) {
	huge := pinchtest.ByteEdit([]byte(sent), before, `"`+strings.Repeat("n", pinch.MessageLimit)+`"`)
	server := pinchtest.Script(t, pinchtest.Reply(&pinchv1.PruneResponse{Edits: []*pinchv1.Edit{huge}}))
	err := failsOpen(t, connect(t, server.Address))
	expectCode(t, err, codes.ResourceExhausted)
}

// The methods name their dialect, and every body is sent as it is, asking for edits only.
func TestC9EachMethodNamesItsFormat(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	client, ctx := connect(t, server.Address), context.Background()
	_, _ = client.PruneOpenAI(ctx, []byte(sent))
	_, _ = client.PruneAnthropic(ctx, []byte(sent))
	_, _ = client.PruneBody(ctx, pinchv1.Format_FORMAT_UNSPECIFIED, []byte(sent))
	for place, format := range []pinchv1.Format{
		pinchv1.Format_FORMAT_OPENAI_CHAT, pinchv1.Format_FORMAT_ANTHROPIC_MESSAGES, pinchv1.Format_FORMAT_UNSPECIFIED,
	} {
		want := &pinchv1.PruneRequest{
			Conversation: &pinchv1.PruneRequest_Body{Body: &pinchv1.RequestBody{Format: format, Json: []byte(sent)}},
			ReplyForm:    pinchv1.ReplyForm_REPLY_FORM_EDITS,
		}
		if got := server.Calls()[place].Request; !proto.Equal(got, want) {
			t.Errorf("%v", got)
		}
	}
}

// Limits, context and dry run arrive as they were given, those of the call before those of the client.
func TestC9OptionsReachTheServer(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	standing := &pinchv1.Limits{BudgetTokens: proto.Int64(1)}
	own := &pinchv1.Limits{ProtectedMaxChars: proto.Int64(0), ProtectedTools: &pinchv1.ToolGlobs{}}
	who := &pinchv1.RequestContext{RequestId: "r", SessionId: "s", Route: pinchv1.Route_ROUTE_ROUTED}
	client := connect(t, server.Address, pinch.WithLimits(standing), pinch.WithRequestContext(who))
	messages := []*pinchv1.ChatMessage{text("user", "hello")}
	if result, err := client.Prune(context.Background(), messages); err != nil || &result.Body[0] != &messages[0] {
		t.Fatalf("%v, %+v", err, result)
	}
	_, _ = prune(t, client, pinch.WithLimits(own), pinch.WithDryRun())
	first, second := server.Calls()[0].Request, server.Calls()[1].Request
	if !proto.Equal(first.GetLimits(), standing) || !proto.Equal(first.GetContext(), who) || first.GetDryRun() ||
		!proto.Equal(first.GetChat(), &pinchv1.ChatMessages{Messages: messages}) {
		t.Errorf("%v", first)
	}
	if !proto.Equal(second.GetLimits(), own) || !proto.Equal(second.GetContext(), who) || !second.GetDryRun() {
		t.Errorf("%v", second)
	}
}

// Without edits the result has the server's reason and its account.
func TestC9UnchangedSaysWhy(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged, pinchtest.Reply(&pinchv1.PruneResponse{}))
	client := connect(t, server.Address)
	for _, reason := range []string{"within_budget", "unchanged"} {
		result, err := prune(t, client)
		if err != nil || result.Err != nil || result.Reason != reason || result.Reply == nil {
			t.Errorf("%v, %+v", err, result)
		}
	}
}

// A report carries decision, outcome, model, usage and cost.
func TestC9OutcomeIsReported(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	report := &pinchv1.ReportOutcomeRequest{
		DecisionId: "d", Outcome: pinchv1.Outcome_OUTCOME_DISPATCHED, SelectedModel: "m", CostUsd: "0.0000001",
		Usage: &pinchv1.TokenUsage{PromptTokens: proto.Int64(10), CachedTokens: proto.Int64(0)},
	}
	client := connect(t, server.Address, pinch.WithStrict())
	if held, err := client.ReportOutcome(context.Background(), report); !held || err != nil {
		t.Fatalf("%v, %v", held, err)
	}
	call := server.Calls()[0]
	if !proto.Equal(call.Report, report) || call.TimeLeft <= 0 || call.TimeLeft > patient {
		t.Errorf("%+v", call)
	}
}

// A report has a time of its own where it is given one; without any left nothing is sent.
func TestC2AReportHasADeadline(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	client := connect(t, server.Address, pinch.WithTimeout(short))
	report := &pinchv1.ReportOutcomeRequest{DecisionId: "d", Outcome: pinchv1.Outcome_OUTCOME_DISPATCHED}
	if held, _ := client.ReportOutcome(context.Background(), report, pinch.WithTimeout(0)); held {
		t.Error("held without any time")
	}
	if held, _ := client.ReportOutcome(context.Background(), report, pinch.WithTimeout(patient)); !held {
		t.Error("not held")
	}
	if calls := server.Calls(); len(calls) != 1 || calls[0].TimeLeft <= short {
		t.Errorf("%+v", calls)
	}
}

// Further metadata travels with every call, beside that of the context.
func TestC10FurtherMetadataTravels(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	client := connect(t, server.Address, pinch.WithMetadata("x-team", "a"), pinch.WithMetadata("x-team", "b"))
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-request", "r")
	_, _ = client.PruneOpenAI(ctx, []byte(sent))
	got := server.Calls()[0].Metadata
	if !slices.Equal(got.Get("x-team"), []string{"a", "b"}) || !slices.Equal(got.Get("x-request"), []string{"r"}) {
		t.Errorf("%v", got)
	}
}

// Where a context has a token or a client of its own, as one that a router passes on, the client's stand.
func TestC10TheContextBringsNoSecondToken(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	client := connect(t, server.Address, pinch.WithToken("ours"))
	ctx := metadata.AppendToOutgoingContext(
		context.Background(), "authorization", "Bearer theirs", "pinch-client", "theirs", "x-request", "r",
	)
	_, _ = client.PruneOpenAI(ctx, []byte(sent))
	got := server.Calls()[0].Metadata
	if tokens := got.Get("authorization"); !slices.Equal(tokens, []string{"Bearer ours"}) {
		t.Errorf("%d tokens were sent", len(tokens))
	}
	if clients := got.Get("pinch-client"); len(clients) != 1 || !slices.Equal(got.Get("x-request"), []string{"r"}) {
		t.Errorf("%v", clients)
	}
	if kept, _ := metadata.FromOutgoingContext(ctx); !slices.Equal(kept.Get("pinch-client"), []string{"theirs"}) {
		t.Error("the caller's context was changed")
	}
}

// Every call names the client's language and version, and no token unless there is one.
func TestC10VersionIsTold(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	_, _ = prune(t, connect(t, server.Address))
	sent := server.Calls()[0].Metadata
	if client := sent.Get("pinch-client"); len(client) != 1 || !strings.HasPrefix(client[0], "go/") {
		t.Errorf("pinch-client: %q", client)
	}
	if agent := sent.Get("user-agent"); len(agent) != 1 || !strings.HasPrefix(agent[0], "pinch-go/") {
		t.Errorf("user-agent: %q", agent)
	}
	if tokens := sent.Get("authorization"); len(tokens) != 0 {
		t.Error("a token was sent")
	}
}
