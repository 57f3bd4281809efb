package pinch

import (
	"context"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

// PruneOpenAI shortens an OpenAI Chat Completions body; see [Client.PruneBody].
func (c *Client) PruneOpenAI(ctx context.Context, body []byte, options ...CallOption) (Result[[]byte], error) {
	return c.PruneBody(ctx, pinchv1.Format_FORMAT_OPENAI_CHAT, body, options...)
}

// PruneAnthropic shortens an Anthropic Messages body; see [Client.PruneBody].
func (c *Client) PruneAnthropic(ctx context.Context, body []byte, options ...CallOption) (Result[[]byte], error) {
	return c.PruneBody(ctx, pinchv1.Format_FORMAT_ANTHROPIC_MESSAGES, body, options...)
}

// PruneBody shortens a provider's request body, JSON as UTF-8 bytes. It never changes body, and every byte
// outside the trimmed texts comes back the same. With FORMAT_UNSPECIFIED the server recognises the dialect.
//
// The result can be sent on whatever happens. The error is nil unless the client is strict; then it is the
// result's Err.
func (c *Client) PruneBody(
	ctx context.Context, format pinchv1.Format, body []byte, options ...CallOption,
) (Result[[]byte], error) {
	request := &pinchv1.PruneRequest{
		Conversation: &pinchv1.PruneRequest_Body{Body: &pinchv1.RequestBody{Format: format, Json: body}},
	}
	return prune(ctx, c, body, request, applyByteEdits, options)
}

// Prune shortens typed messages, oldest first; set the limit ExtraFixedTokens to what ships beside them. It never
// changes messages: the result holds the very list, or a new one that shares the untouched messages.
//
// The error is nil unless the client is strict; then it is the result's Err.
func (c *Client) Prune(
	ctx context.Context, messages []*pinchv1.ChatMessage, options ...CallOption,
) (Result[[]*pinchv1.ChatMessage], error) {
	request := &pinchv1.PruneRequest{
		Conversation: &pinchv1.PruneRequest_Chat{Chat: &pinchv1.ChatMessages{Messages: messages}},
	}
	return prune(ctx, c, messages, request, applyPartEdits, options)
}

// ReportOutcome tells the service what became of a pruned request; the last report for a decision wins. The
// decision id is that of the result's Reply. When it is empty, as after a failure, nothing is sent.
//
// It returns whether the service holds the report safely. The error is nil unless the client is strict. Of the
// options only [WithTimeout] is of use here.
func (c *Client) ReportOutcome(
	ctx context.Context, report *pinchv1.ReportOutcomeRequest, options ...CallOption,
) (bool, error) {
	if report.GetDecisionId() == "" {
		return false, c.strictly(&RequestError{problem: "there is no decision to report on"})
	}
	reply, err := call(ctx, c, c.settings.of(options).timeout, c.service.ReportOutcome, report)
	if err != nil {
		return false, c.strictly(err)
	}
	return reply.GetPersisted(), nil
}

func prune[Conversation any](
	ctx context.Context,
	c *Client,
	original Conversation,
	request *pinchv1.PruneRequest,
	apply func(Conversation, []*pinchv1.Edit) (Conversation, error),
	options []CallOption,
) (Result[Conversation], error) {
	made := c.settings.of(options)
	request.Limits, request.Context, request.DryRun = made.limits, made.context, made.dryRun
	request.ReplyForm = pinchv1.ReplyForm_REPLY_FORM_EDITS
	reply, err := call(ctx, c, made.timeout, c.service.Prune, request)
	if err != nil {
		return unpruned(original, err), c.strictly(err)
	}
	result, err := finish(original, made.dryRun, reply, apply)
	if err != nil {
		return unpruned(original, err), c.strictly(err)
	}
	return result, nil
}

// strictly is a failure as the caller sees it beside the result (C1).
func (c *Client) strictly(failure error) error {
	if c.settings.strict {
		return failure
	}
	return nil
}
