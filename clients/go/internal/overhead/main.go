//go:build unix

// Command overhead is the Go driver of the project's bench/clients: it measures what the client adds to a bare call
// of the generated stub.
//
//	overhead ADDRESS BODY_FILE CALLS
//
// It makes CALLS pairs of calls in turns, after one pair that is not counted, and prints the times of each as JSON:
// milliseconds of the whole process's CPU time and of wall time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strconv"
	"syscall"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const patience = 10 * time.Minute

// report is what is printed.
type report struct {
	Language string           `json:"language"`
	Forms    map[string]times `json:"forms"`
}

// times are those of each pair, in milliseconds.
type times struct {
	StubCPU    []float64 `json:"stub_cpu_ms"`
	ClientCPU  []float64 `json:"client_cpu_ms"`
	StubWall   []float64 `json:"stub_wall_ms"`
	ClientWall []float64 `json:"client_wall_ms"`
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: overhead ADDRESS BODY_FILE CALLS")
	}
	calls, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	body, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	measured, err := measure(os.Args[1], body, calls)
	if err != nil {
		log.Fatal(err)
	}
	made := report{Language: "Go", Forms: map[string]times{"bytes": measured}}
	if err := json.NewEncoder(os.Stdout).Encode(made); err != nil {
		log.Fatal(err)
	}
}

func measure(address string, body []byte, calls int) (times, error) {
	client, err := pinch.New(address, pinch.WithStrict(), pinch.WithTimeout(patience))
	if err != nil {
		return times{}, err
	}
	defer client.Close()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(pinch.MessageLimit)))
	if err != nil {
		return times{}, err
	}
	defer connection.Close()
	stub := pinchv1.NewPruneServiceClient(connection)
	bare := func() error { return call(stub, body) }
	byClient := func() error {
		result, err := client.PruneBody(context.Background(), pinchv1.Format_FORMAT_UNSPECIFIED, body)
		if err == nil && !result.Pruned {
			return errors.New("the client did not shorten the body: " + result.Reason)
		}
		return err
	}
	var found times
	// The first pair opens the connections.
	if err := errors.Join(bare(), byClient()); err != nil {
		return times{}, err
	}
	for range calls {
		if err := errors.Join(
			timed(bare, &found.StubCPU, &found.StubWall), timed(byClient, &found.ClientCPU, &found.ClientWall),
		); err != nil {
			return times{}, err
		}
	}
	return found, nil
}

// call is a bare call, as a program without the client would make it.
func call(stub pinchv1.PruneServiceClient, body []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := stub.Prune(ctx, &pinchv1.PruneRequest{
		Conversation: &pinchv1.PruneRequest_Body{Body: &pinchv1.RequestBody{Json: body}},
		ReplyForm:    pinchv1.ReplyForm_REPLY_FORM_EDITS,
	})
	return err
}

func timed(call func() error, cpu, wall *[]float64) error {
	before, err := cpuTime()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := call(); err != nil {
		return err
	}
	took := time.Since(start)
	after, err := cpuTime()
	*cpu = append(*cpu, millis(after-before))
	*wall = append(*wall, millis(took))
	return err
}

// cpuTime is what this process has used so far, all threads together.
func cpuTime() (time.Duration, error) {
	var used syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}

func millis(duration time.Duration) float64 { return float64(duration) / float64(time.Millisecond) }
