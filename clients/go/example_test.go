package pinch_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/protobuf/proto"
)

// address is where a service listens while the examples run; yours may be 127.0.0.1:50051.
var address string

var body = []byte(`{"model":"m","messages":[{"role":"tool","content":"a long old result"}]}`)

func Example() {
	client, err := pinch.New(address)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	limits := &pinchv1.Limits{BudgetTokens: proto.Int64(50_000)}
	result, _ := client.PruneOpenAI(context.Background(), body, pinch.WithLimits(limits))
	fmt.Println(string(result.Body)) // what to send on, whatever happened
	fmt.Println(result.Reply.GetStats().GetTokensSaved(), "tokens saved")

	_, _ = client.ReportOutcome(context.Background(), &pinchv1.ReportOutcomeRequest{
		DecisionId:    result.Reply.GetDecisionId(),
		Outcome:       pinchv1.Outcome_OUTCOME_DISPATCHED,
		SelectedModel: "m",
	})
	// Output:
	// {"model":"m","messages":[{"role":"tool","content":"[result omitted]"}]}
	// 40 tokens saved
}

// Whatever goes wrong, the caller's own body comes back, and the result says why.
func Example_failOpen() {
	client, err := pinch.New("127.0.0.1:1") // nobody listens there
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	result, err := client.PruneOpenAI(context.Background(), body)
	fmt.Println(&result.Body[0] == &body[0], result.Pruned, result.Reason, err)
	// Output: true false unavailable <nil>
}

func ExampleClient_Prune() {
	client, err := pinch.New(address)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	messages := []*pinchv1.ChatMessage{{
		Role:    "user",
		Content: []*pinchv1.ContentPart{{Part: &pinchv1.ContentPart_Text{Text: "hello"}}},
	}}
	limits := &pinchv1.Limits{ExtraFixedTokens: proto.Int64(1_200)} // tool definitions, counted by the router
	result, _ := client.Prune(context.Background(), messages, pinch.WithLimits(limits))
	fmt.Println(len(result.Body), result.Pruned, result.Reason)
	// Output: 1 false within_budget
}

func ExampleNew() {
	client, err := pinch.New(
		"10.0.0.1:50051,10.0.0.2:50051",
		pinch.WithTLS(&tls.Config{ServerName: "pinch.internal"}),
		pinch.WithToken("s3cret"),
		pinch.WithTimeout(500*time.Millisecond),
		pinch.WithLimits(&pinchv1.Limits{BudgetTokens: proto.Int64(50_000)}), // for every call
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(client) // keys and token are never printed
	// Output: pinch.Client(10.0.0.1:50051,10.0.0.2:50051)
}
