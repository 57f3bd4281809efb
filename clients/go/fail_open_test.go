package pinch_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

var failures = map[codes.Code]string{
	codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE",
	codes.Unimplemented: "UNIMPLEMENTED", codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE",
	codes.DataLoss: "DATA_LOSS", codes.Unauthenticated: "UNAUTHENTICATED",
}

// Any status but OK gives back the very body that came in, with the status as the reason; a strict client
// returns it as an error too.
func TestC1AnyStatusFailsOpen(t *testing.T) {
	for code, name := range failures {
		t.Run(name, func(t *testing.T) {
			server := pinchtest.Script(t, pinchtest.Fail(code, "words\nof the server"))
			err := failsOpen(t, connect(t, server.Address))
			expectCode(t, err, code)
			if want := name + ": words of the server"; err.Error() != want {
				t.Errorf("the failure is %q, not %q", err, want)
			}
			result, err := prune(t, connect(t, server.Address, pinch.WithStrict()))
			expectCode(t, err, code)
			if !errors.Is(result.Err, err) || result.Reason != strings.ToLower(name) {
				t.Errorf("strict: the result has %v, %q", result.Err, result.Reason)
			}
		})
	}
}

// What else gRPC's error carries, such as field violations, is found behind the failure.
func TestC1FieldViolationsAreKept(t *testing.T) {
	// Any message will do for a detail; the API's own BadRequest would be one more module to depend on.
	detail := &pinchv1.GetDecisionRequest{DecisionId: "limits.budget_tokens"}
	detailed, err := grpcstatus.New(codes.InvalidArgument, "limits").WithDetails(protoadapt.MessageV1Of(detail))
	if err != nil {
		t.Fatal(err)
	}
	server := pinchtest.Script(t, func(context.Context, *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
		return nil, detailed.Err()
	})
	var carried interface{ GRPCStatus() *grpcstatus.Status }
	if err := failsOpen(t, connect(t, server.Address)); !errors.As(err, &carried) {
		t.Fatalf("%v has no status", err)
	}
	details := carried.GRPCStatus().Details()
	if len(details) != 1 || !proto.Equal(details[0].(proto.Message), detail) {
		t.Errorf("the details are %v", details)
	}
}

// An address where nobody listens gives UNAVAILABLE.
func TestC1ServerDownFailsOpen(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	expectCode(t, failsOpen(t, connect(t, address)), codes.Unavailable)
}

// A name that nobody knows gives UNAVAILABLE or costs the deadline.
func TestC1UnknownHostFailsOpen(t *testing.T) {
	err := failsOpen(t, connect(t, "nobody.invalid:1", pinch.WithTimeout(short)))
	if code := status(err); code != codes.Unavailable && code != codes.DeadlineExceeded {
		t.Errorf("the failure is %v", err)
	}
}

// A server that never answers costs the deadline, after one attempt.
func TestC1HungServerFailsOpen(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Hang)
	expectCode(t, failsOpen(t, connect(t, server.Address, pinch.WithTimeout(short))), codes.DeadlineExceeded)
	if calls := len(server.Calls()); calls > 1 {
		t.Errorf("%d attempts", calls)
	}
}

// A peer that accepts and says nothing costs the deadline.
func TestC1SilentPeerFailsOpen(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	err = failsOpen(t, connect(t, listener.Addr().String(), pinch.WithTimeout(short)))
	expectCode(t, err, codes.DeadlineExceeded)
}

// A caller whose context has ended gets its conversation back; nothing is sent.
func TestC1EndedContextFailsOpen(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	result, err := connect(t, server.Address).PruneOpenAI(ctx, []byte(sent))
	if err != nil || string(result.Body) != sent {
		t.Fatalf("%v, %q", err, result.Body)
	}
	expectCode(t, result.Err, codes.Canceled)
	if len(server.Calls()) != 0 {
		t.Error("the server was asked")
	}
}

// The same over a connection that is there already: neither an ended context nor a time of zero sends anything.
func TestC1EndedContextSendsNothingOverAnOpenConnection(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	client := connect(t, server.Address, pinch.WithStrict())
	if _, err := prune(t, client); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		_, err := client.PruneOpenAI(ctx, []byte(sent))
		expectCode(t, err, codes.Canceled)
		_, err = client.PruneOpenAI(context.Background(), []byte(sent), pinch.WithTimeout(0))
		expectCode(t, err, codes.DeadlineExceeded)
	}
	if calls := len(server.Calls()); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

// A caller that cancels during the call gets its conversation back, and the server is told to stop.
func TestC1CancelledCallFailsOpen(t *testing.T) {
	stopped := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	server := pinchtest.Script(t, func(call context.Context, _ *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
		cancel()
		<-call.Done()
		close(stopped)
		return nil, call.Err()
	})
	body := []byte(sent)
	result, err := connect(t, server.Address).PruneOpenAI(ctx, body)
	if err != nil || &result.Body[0] != &body[0] || result.Reason != "cancelled" {
		t.Fatalf("%v, %v, %q", err, result.Err, result.Reason)
	}
	<-stopped
}

// A call after Close gives back the caller's body, and so does a call that Close cuts short.
func TestC1ClosedClientFailsOpen(t *testing.T) {
	arrived := make(chan struct{})
	server := pinchtest.Script(t, func(ctx context.Context, r *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
		close(arrived)
		return pinchtest.Hang(ctx, r)
	})
	client, err := pinch.New(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	inFlight := make(chan error, 1)
	go func() {
		result, _ := client.PruneOpenAI(context.Background(), []byte(sent))
		inFlight <- result.Err
	}()
	<-arrived
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-inFlight; status(err) == codes.OK {
		t.Errorf("the call in flight ended with %v", err)
	}
	expectCode(t, failsOpen(t, client), codes.Canceled)
}

// A dry run changes nothing, also when the server forgets that it was one.
func TestC1DryRunWithEditsIsRefused(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Trim(before, after))
	expectReplyError(t, failsOpen(t, connect(t, server.Address), pinch.WithDryRun()))
}

// The server's reason is cut like all its words: it is meant for one log line, in valid text.
func TestC1ReasonIsOneShortLine(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Reply(&pinchv1.PruneResponse{
		UnchangedReason: strings.Repeat("é\n", 1_000_000),
	}))
	result, _ := prune(t, connect(t, server.Address))
	if letters := []rune(result.Reason); len(letters) != 300 || strings.ContainsAny(result.Reason, "\n\uFFFD") {
		t.Errorf("the reason has %d letters: %q", len(letters), result.Reason)
	}
}

// A report that fails is false, or an error for a strict client; without a decision nothing is sent.
func TestC1FailedReportIsFalse(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Fail(codes.Internal, "why"))
	report := &pinchv1.ReportOutcomeRequest{DecisionId: "d", Outcome: pinchv1.Outcome_OUTCOME_FAILED}
	lenient, strict := connect(t, server.Address), connect(t, server.Address, pinch.WithStrict())
	if held, err := lenient.ReportOutcome(context.Background(), report); held || err != nil {
		t.Errorf("%v, %v", held, err)
	}
	held, err := strict.ReportOutcome(context.Background(), report)
	expectCode(t, err, codes.Internal)
	asked := len(server.Calls())
	report.DecisionId = ""
	if held, err := lenient.ReportOutcome(context.Background(), report); held || err != nil {
		t.Errorf("without a decision: %v, %v", held, err)
	}
	var missing *pinch.RequestError
	if _, err := strict.ReportOutcome(context.Background(), report); held || !errors.As(err, &missing) {
		t.Errorf("without a decision, strict: %v", err)
	}
	if len(server.Calls()) != asked {
		t.Error("a report without a decision was sent")
	}
}
