package pinchtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Step answers one call.
type Step func(context.Context, *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error)

// Call is one call as the server saw it.
type Call struct {
	Request  *pinchv1.PruneRequest
	Report   *pinchv1.ReportOutcomeRequest
	Metadata metadata.MD
	// TimeLeft is how long the caller was still willing to wait when the call came in.
	TimeLeft time.Duration
}

// Scripted is a real gRPC server that answers each call with the next step, the last one again and again, and
// remembers what it was asked.
type Scripted struct {
	pinchv1.UnimplementedPruneServiceServer

	// Address is where it listens.
	Address string

	server *grpc.Server
	mutex  sync.Mutex
	steps  []Step
	calls  []Call
}

// Script starts a scripted server on a free port; it stops with the test.
func Script(t testing.TB, steps ...Step) *Scripted {
	t.Helper()
	return ScriptOn(t, "tcp", "127.0.0.1:0", nil, steps...)
}

// ScriptOn starts a scripted server on some address, with further options.
func ScriptOn(t testing.TB, network, address string, options []grpc.ServerOption, steps ...Step) *Scripted {
	t.Helper()
	scripted, err := Listen(network, address, options, steps...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(scripted.Stop)
	return scripted
}

// Listen starts a scripted server that is stopped by hand.
func Listen(network, address string, options []grpc.ServerOption, steps ...Step) (*Scripted, error) {
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	scripted := &Scripted{Address: listener.Addr().String(), steps: steps}
	if network == "unix" {
		scripted.Address = "unix:" + scripted.Address
	}
	const limit = 256 << 20
	scripted.server = grpc.NewServer(append(options, grpc.MaxRecvMsgSize(limit), grpc.MaxSendMsgSize(limit))...)
	pinchv1.RegisterPruneServiceServer(scripted.server, scripted)
	// When it cannot serve, calls say so.
	go func() { _ = scripted.server.Serve(listener) }()
	return scripted, nil
}

// Stop ends the server and all calls.
func (s *Scripted) Stop() { s.server.Stop() }

// Calls are the calls so far, in order.
func (s *Scripted) Calls() []Call {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Call(nil), s.calls...)
}

// Prune answers with the next step.
func (s *Scripted) Prune(ctx context.Context, request *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
	return s.next(ctx, Call{Request: request})(ctx, request)
}

// ReportOutcome accepts a report unless the next step fails.
func (s *Scripted) ReportOutcome(
	ctx context.Context, report *pinchv1.ReportOutcomeRequest,
) (*pinchv1.ReportOutcomeResponse, error) {
	if _, err := s.next(ctx, Call{Report: report})(ctx, nil); err != nil {
		return nil, err
	}
	return &pinchv1.ReportOutcomeResponse{Persisted: true}, nil
}

func (s *Scripted) next(ctx context.Context, call Call) Step {
	call.Metadata, _ = metadata.FromIncomingContext(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		call.TimeLeft = time.Until(deadline)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls = append(s.calls, call)
	step := s.steps[0]
	if len(s.steps) > 1 {
		s.steps = s.steps[1:]
	}
	return step
}

// Reply answers with one response, whatever was asked.
func Reply(response *pinchv1.PruneResponse) Step {
	return func(context.Context, *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) { return response, nil }
}

// Fail ends the call with a status.
func Fail(code codes.Code, details string) Step {
	return func(context.Context, *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
		return nil, status.Error(code, details)
	}
}

// Hang answers only when the caller has gone.
func Hang(ctx context.Context, _ *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Unchanged changes nothing.
func Unchanged(context.Context, *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
	return &pinchv1.PruneResponse{UnchangedReason: "within_budget", DecisionId: "d", Persisted: true}, nil
}

// Trim replaces the one place where before stands in the body that the call brings.
func Trim(before, after string) Step {
	return func(_ context.Context, request *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
		return &pinchv1.PruneResponse{
			Edits:               []*pinchv1.Edit{ByteEdit(request.GetBody().GetJson(), before, after)},
			Stats:               &pinchv1.PruneStats{Pruned: true, OriginalTokens: 100, FinalTokens: 60, TokensSaved: 40},
			TurnFrame:           &pinchv1.TurnFrame{Message: "hello", Framed: "hello"},
			DecisionId:          "01890000-0000-7000-8000-000000000001",
			FirstChangedMessage: proto.Int32(2),
			Persisted:           true,
		}, nil
	}
}

// ByteEdit is the edit that replaces the first place where before stands in a body.
func ByteEdit(body []byte, before, after string) *pinchv1.Edit {
	digest := sha256.Sum256([]byte(before))
	return &pinchv1.Edit{
		Offset:         int64(bytes.Index(body, []byte(before))),
		Length:         int64(len(before)),
		Replacement:    []byte(after),
		ReplacedSha256: digest[:],
	}
}
