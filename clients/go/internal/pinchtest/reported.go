package pinchtest

import (
	"context"
	"testing"
	"time"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Reported waits until the outcome of the decision on the request with the test's name is stored, and gives the
// decision.
func Reported(t testing.TB, address string) *pinchv1.Decision {
	t.Helper()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	wanted := &pinchv1.ListDecisionsRequest{Filter: &pinchv1.DecisionFilter{RequestId: t.Name()}}
	insight := pinchv1.NewInsightServiceClient(connection)
	for {
		page, err := insight.ListDecisions(ctx, wanted)
		if err != nil {
			t.Fatal(err)
		}
		if found := page.GetDecisions(); len(found) == 1 && found[0].GetOutcome() != pinchv1.Outcome_OUTCOME_PENDING {
			return found[0]
		}
	}
}
