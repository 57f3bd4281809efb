// Command overhead measures what the client adds to a bare call of the generated stub, and prints it as JSON.
//
//	go run ./internal/overhead -server 127.0.0.1:50051 -rounds 50 3k.json 324k.json 1m.json
//
// The server is asked once for each file (an OpenAI Chat Completions body). A server inside this process then
// gives that reply again and again, so that what is compared is the client and the stub, not two prunings. Both
// are called in turn, and the median of the differences is the client's own time: metadata, deadline, checks of
// the edits, and the new body.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"slices"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const patience = pinch.DefaultTimeout * 30

// row is what was measured with one file.
type row struct {
	File         string  `json:"file"`
	Bytes        int     `json:"bytes"`
	Tokens       int64   `json:"tokens"`
	Edits        int     `json:"edits"`
	Rounds       int     `json:"rounds"`
	ClientMillis float64 `json:"client_ms"`
	StubMillis   float64 `json:"stub_ms"`
	OwnMillis    float64 `json:"own_ms"`
}

// replay gives one reply again and again.
type replay struct {
	pinchv1.UnimplementedPruneServiceServer
	reply *pinchv1.PruneResponse
}

// Prune gives the reply.
func (r *replay) Prune(context.Context, *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
	return r.reply, nil
}

func main() {
	server := flag.String("server", "127.0.0.1:50051", "`address` of the Pinch service")
	rounds := flag.Int("rounds", 50, "pairs of calls for each file")
	flag.Parse()
	rows := []row{}
	for _, file := range flag.Args() {
		measured, err := measure(*server, file, *rounds)
		if err != nil {
			log.Fatalf("%s: %v", file, err)
		}
		rows = append(rows, measured)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"client": "go", "rows": rows}); err != nil {
		log.Fatal(err)
	}
}

func measure(server, file string, rounds int) (row, error) {
	if rounds < 1 {
		return row{}, fmt.Errorf("at least one round is needed, not %d", rounds)
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return row{}, err
	}
	reply, err := asked(server, body)
	if err != nil {
		return row{}, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return row{}, err
	}
	service := grpc.NewServer(grpc.MaxRecvMsgSize(pinch.MessageLimit), grpc.MaxSendMsgSize(pinch.MessageLimit))
	pinchv1.RegisterPruneServiceServer(service, &replay{reply: reply})
	go func() { _ = service.Serve(listener) }()
	defer service.Stop()

	client, stub, err := paired(listener.Addr().String(), body, rounds)
	if err != nil {
		return row{}, err
	}
	own := make([]time.Duration, rounds)
	for round := range own {
		own[round] = client[round] - stub[round]
	}
	return row{
		File: file, Bytes: len(body), Tokens: reply.GetStats().GetOriginalTokens(), Edits: len(reply.GetEdits()),
		Rounds: rounds, ClientMillis: millis(client), StubMillis: millis(stub), OwnMillis: millis(own),
	}, nil
}

// asked is a real server's reply.
func asked(server string, body []byte) (*pinchv1.PruneResponse, error) {
	client, err := pinch.New(server, pinch.WithStrict(), pinch.WithTimeout(patience))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	result, err := client.PruneOpenAI(context.Background(), body)
	return result.Reply, err
}

// paired is how long the calls of the client and those of the stub took, made in turn.
func paired(address string, body []byte, rounds int) (client, stub []time.Duration, err error) {
	ours, err := pinch.New(address, pinch.WithStrict(), pinch.WithTimeout(patience))
	if err != nil {
		return nil, nil, err
	}
	defer ours.Close()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(pinch.MessageLimit)))
	if err != nil {
		return nil, nil, err
	}
	defer connection.Close()
	ctx, service := context.Background(), pinchv1.NewPruneServiceClient(connection)
	request := &pinchv1.PruneRequest{
		Conversation: &pinchv1.PruneRequest_Body{
			Body: &pinchv1.RequestBody{Format: pinchv1.Format_FORMAT_OPENAI_CHAT, Json: body},
		},
		ReplyForm: pinchv1.ReplyForm_REPLY_FORM_EDITS,
	}
	calls := []func() error{
		func() error { _, err := ours.PruneOpenAI(ctx, body); return err },
		func() error { _, err := service.Prune(ctx, request); return err },
	}
	took := [2][]time.Duration{}
	for round := range rounds + 1 {
		for turn := range calls {
			which := (turn + round) % len(calls) // neither is always the first
			start := time.Now()
			if err := calls[which](); err != nil {
				return nil, nil, err
			}
			if round > 0 { // the first round connects
				took[which] = append(took[which], time.Since(start))
			}
		}
	}
	return took[0], took[1], nil
}

// millis is the median, in milliseconds.
func millis(times []time.Duration) float64 {
	sorted := slices.SortedFunc(slices.Values(times), cmp.Compare)
	return float64(sorted[len(sorted)/2]) / float64(time.Millisecond)
}
