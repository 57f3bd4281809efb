// Package gateway is what Pinch's steps in gateways written in Go share: which requests are pruned, what their
// headers ask for, and the report of what became of them.
package gateway

import (
	"context"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

// Step prunes requests on their way. It is safe for concurrent use.
type Step struct {
	Client *pinch.Client
	// Limits hold for every call, under those of its headers; nil for the client's or the server's.
	Limits *pinchv1.Limits
	// Route is told of calls whose headers tell none.
	Route pinchv1.Route

	reports reports
}

// Request is a request as a gateway holds it. None of it is ever changed.
type Request struct {
	ID      string
	Path    string
	Headers map[string]string
	// Body is asked for only when the request is one to prune.
	Body func() ([]byte, error)
}

// Call is a request that was looked at: what to send on, and what its answer said so far. Each answer has
// one reader at a time.
type Call struct {
	// Body is what to send on: nil when nothing was pruned, so that the request goes on as it came.
	Body   []byte
	Format pinchv1.Format

	step     *Step
	decision string
	model    string
	usage    usage
}

// Prune prunes a request; whatever goes wrong, the call's Body is nil.
func (s *Step) Prune(ctx context.Context, request Request) *Call {
	call := &Call{step: s}
	format, carries := dialectOf(request.Path)
	wanted, err := read(request.Headers)
	if wanted.format != pinchv1.Format_FORMAT_UNSPECIFIED {
		format, carries = wanted.format, true
	}
	if err != nil || !carries || wanted.bypass {
		return call
	}
	body, err := request.Body()
	if err != nil || len(body) == 0 {
		return call
	}
	if wanted.context.GetRoute() == pinchv1.Route_ROUTE_UNSPECIFIED {
		wanted.context.Route = s.Route
	}
	if request.ID != "" {
		wanted.context.RequestId = request.ID
	}
	options := []pinch.CallOption{pinch.WithRequestContext(wanted.context)}
	if limits := wanted.over(s.Limits); limits != nil {
		options = append(options, pinch.WithLimits(limits))
	}
	if wanted.dryRun {
		options = append(options, pinch.WithDryRun())
	}
	// The error is a strict client's; here the request goes on either way.
	result, _ := s.Client.PruneBody(ctx, format, body, options...)
	if result.Pruned {
		call.Body = result.Body
	}
	call.Format, call.decision, call.model = format, result.Reply.GetDecisionId(), wanted.context.GetModel()
	return call
}

// Decided tells whether there is a decision to report on.
func (c *Call) Decided() bool { return c.decision != "" }

// Read takes the next piece of the answer, an object or a stream of events.
func (c *Call) Read(piece []byte) { c.usage.feed(piece) }

// ReadObject takes one JSON object that the answer is made of; it returns whether it says what was used.
func (c *Call) ReadObject(text []byte) bool {
	c.usage.found = false
	c.usage.object(text)
	return c.usage.found
}

// Report tells the service what became of the request, by its answer's status, beside the caller: the answer
// never waits for it.
func (c *Call) Report(status int) {
	if !c.Decided() {
		return
	}
	c.usage.end()
	report := &pinchv1.ReportOutcomeRequest{
		DecisionId: c.decision, Outcome: pinchv1.Outcome_OUTCOME_FAILED, SelectedModel: c.model, Usage: c.usage.tokens(),
	}
	if c.usage.model != "" {
		report.SelectedModel = c.usage.model
	}
	if 200 <= status && status < 300 {
		report.Outcome = pinchv1.Outcome_OUTCOME_DISPATCHED
	}
	c.step.reports.begin(func() {
		// Nor does it end with the request, which may be over.
		_, _ = c.step.Client.ReportOutcome(context.Background(), report)
	})
}

// Wait waits for the reports that are under way.
func (s *Step) Wait() { s.reports.wait() }
