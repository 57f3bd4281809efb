package pinch_test

import (
	"bytes"
	"context"
	"errors"
	"log"
	"os"
	"testing"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc/codes"
)

const (
	before = `"old \u00e9 text"`
	after  = `"[t: result omitted]"`
	sent   = `{ "n": 1.0, "messages": [{"role":"tool","content":` + before +
		`},{"role":"user","content":"another"}], "x":12345678901234567890 }`
	// short is a deadline that is meant to pass; patient one that is not.
	short   = 200 * time.Millisecond
	patient = time.Minute
)

func TestMain(m *testing.M) { os.Exit(withExamples(m)) }

// withExamples runs all tests while the service that the examples call is there.
func withExamples(m *testing.M) int {
	trim := pinchtest.Trim(`"a long old result"`, `"[result omitted]"`)
	step := func(ctx context.Context, request *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
		if request.GetChat() != nil {
			return pinchtest.Unchanged(ctx, request)
		}
		return trim(ctx, request)
	}
	service, err := pinchtest.Listen("tcp", "127.0.0.1:0", nil, step)
	if err != nil {
		log.Print(err)
		return 1
	}
	defer service.Stop()
	address = service.Address
	return pinchtest.Main(m)
}

// connect makes a client that is patient unless told otherwise, and closed with the test.
func connect(t testing.TB, address string, options ...pinch.Option) *pinch.Client {
	t.Helper()
	client, err := pinch.New(address, append([]pinch.Option{pinch.WithTimeout(patient)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return client
}

// prune sends the usual body and holds C8 of it: not a byte of it may change.
func prune(t testing.TB, client *pinch.Client, options ...pinch.CallOption) (pinch.Result[[]byte], error) {
	t.Helper()
	return pruneBody(t, client, []byte(sent), options...)
}

func pruneBody(
	t testing.TB, client *pinch.Client, body []byte, options ...pinch.CallOption,
) (pinch.Result[[]byte], error) {
	t.Helper()
	kept := bytes.Clone(body)
	result, err := client.PruneOpenAI(context.Background(), body, options...)
	if !bytes.Equal(kept, body) {
		t.Fatal("the caller's body was changed")
	}
	if !result.Pruned && (len(result.Body) != len(body) || &result.Body[0] != &body[0]) {
		t.Fatal("nothing was pruned, but the result is not the caller's own body")
	}
	return result, err
}

// failsOpen holds C1 of a call with the usual body, and gives its failure.
func failsOpen(t testing.TB, client *pinch.Client, options ...pinch.CallOption) error {
	t.Helper()
	result, err := prune(t, client, options...)
	if err != nil {
		t.Fatalf("a client that is not strict returned an error: %v", err)
	}
	if result.Pruned || result.Err == nil || result.Reason == "" || result.Reply != nil {
		t.Fatalf("not the caller's own body with its reason: %+v", result)
	}
	return result.Err
}

func status(err error) codes.Code {
	var failed *pinch.CallError
	if errors.As(err, &failed) {
		return failed.Code
	}
	return codes.OK
}

func expectCode(t testing.TB, err error, code codes.Code) {
	t.Helper()
	if status(err) != code {
		t.Fatalf("the failure is %v, not %v", err, code)
	}
}

func expectReplyError(t testing.TB, err error) {
	t.Helper()
	var refused *pinch.ReplyError
	if !errors.As(err, &refused) {
		t.Fatalf("the failure is %v, not a ReplyError", err)
	}
}
