package pinch

import "github.com/pinch-grpc/pinch/clients/go/pinchv1"

// Result is a conversation that is ready to be sent to a model.
type Result[Conversation any] struct {
	// Body is the conversation to send on. When nothing changed it is the caller's own value.
	Body Conversation
	// Pruned tells whether Body differs from what came in.
	Pruned bool
	// Reason says why nothing changed, as a slug that is made for metric labels: the server's own, such as
	// within_budget; the status of a call that failed, such as deadline_exceeded; invalid_reply or
	// invalid_request. Empty when something changed.
	Reason string
	// Err is the failure that made the client give back the conversation as it came: a [*CallError], a
	// [*ReplyError] or a [*RequestError]. Nil when the server answered, changed or not.
	Err error
	// Reply is the server's account: statistics, measured size, decision id, turn frame, edits and more. Nil
	// after a failure; its getters may be called all the same and then give zero values.
	Reply *pinchv1.PruneResponse
}

// unpruned is the fail-open result: the caller's own conversation, with the reason (C1).
func unpruned[Conversation any](original Conversation, failure error) Result[Conversation] {
	return Result[Conversation]{Body: original, Reason: slug(failure), Err: failure}
}

// finish reads a reply; its edits are applied by apply, which does not change the original.
func finish[Conversation any](
	original Conversation,
	dryRun bool,
	reply *pinchv1.PruneResponse,
	apply func(Conversation, []*pinchv1.Edit) (Conversation, error),
) (Result[Conversation], error) {
	edits := reply.GetEdits()
	if len(edits) == 0 {
		reason := oneLine(reply.GetUnchangedReason())
		if reason == "" {
			reason = "unchanged"
		}
		return Result[Conversation]{Body: original, Reason: reason, Reply: reply}, nil
	}
	if dryRun {
		return Result[Conversation]{}, replyErrorf("a dry run was answered with edits")
	}
	edited, err := apply(original, edits)
	if err != nil {
		return Result[Conversation]{}, err
	}
	return Result[Conversation]{Body: edited, Pruned: true, Reply: reply}, nil
}
