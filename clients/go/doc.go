// Package pinch is the client of the Pinch service, which shortens agent conversations before they are sent to
// a model.
//
//	client, err := pinch.New("127.0.0.1:50051")
//	if err != nil {
//		return err // only what the program itself got wrong: no server is asked yet
//	}
//	defer client.Close()
//
//	result, _ := client.PruneOpenAI(ctx, body, pinch.WithLimits(&pinchv1.Limits{BudgetTokens: proto.Int64(50_000)}))
//	return forward(result.Body)
//
// Whatever goes wrong, result.Body can be sent on: it is then the caller's own, and result.Reason says why. A
// client made [WithStrict] returns that failure as an error as well.
//
// # The contract
//
// All clients of Pinch keep the same numbered promises:
//
//   - C1: any status but OK, a timeout, or a reply that does not fit gives back the caller's own conversation.
//   - C2: every call has a deadline: the context's or the client's (2 s), whichever is sooner.
//   - C3: UNAVAILABLE, and nothing else, is tried once more, inside the same deadline.
//   - C4: requests and replies may have up to 64 MiB.
//   - C5: one channel, kept alive and reused; several addresses are used in turn.
//   - C6: the server sends edits, not conversations; the client checks every one of them and then splices them in.
//   - C7: plain text, TLS, mutual TLS, bearer token, unix socket.
//   - C8: what the caller passes in is never changed.
//   - C9: bodies of OpenAI, Anthropic and others as bytes, typed messages, and [Client.ReportOutcome].
//   - C10: every call tells the server the client's language and version.
//
// The messages of the API, such as limits and statistics, are in package
// [github.com/pinch-grpc/pinch/clients/go/pinchv1].
package pinch
