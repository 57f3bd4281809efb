// Command latency is the Go driver of the project's bench/gateways: it measures what the steps for gateways written in
// Go take before a request goes on.
//
// It reads JSON of the form {"address": HOST:PORT, "bifrost": [BODY], "llmd": [BODY]} from standard input, and prints
// the median of each over its bodies, in milliseconds, and how many bodies became shorter.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"slices"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/bifrost"
	"github.com/pinch-grpc/pinch/clients/go/llmd"
)

const (
	patience = 10 * time.Minute
	path     = "/v1/chat/completions"
)

// asked is what is read.
type asked struct {
	Address string            `json:"address"`
	Bifrost []json.RawMessage `json:"bifrost"`
	LLMD    []json.RawMessage `json:"llmd"`
}

// report is what is printed.
type report struct {
	Bifrost   float64 `json:"bifrost_ms"`
	LLMD      float64 `json:"llmd_ms"`
	Shortened int     `json:"shortened"`
}

func main() {
	made, err := measured(os.Stdin)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(made)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func measured(from io.Reader) (report, error) {
	var wanted asked
	if err := json.NewDecoder(from).Decode(&wanted); err != nil {
		return report{}, err
	}
	client, err := pinch.New(wanted.Address, pinch.WithTimeout(patience))
	if err != nil {
		return report{}, err
	}
	defer client.Close()
	hook, step, made := bifrost.New(client, nil), llmd.New(client, nil), report{}
	defer step.Wait()
	defer hook.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var times []time.Duration
	for _, body := range wanted.Bifrost {
		started := time.Now()
		sent, _ := hook.Prune(ctx, path, nil, body)
		times = append(times, time.Since(started))
		made.count(len(sent), len(body))
	}
	made.Bifrost, times = median(times), nil
	for _, body := range wanted.LLMD {
		var request map[string]any
		if err := json.Unmarshal(body, &request); err != nil {
			return report{}, err
		}
		started := time.Now()
		pruned, _ := step.Prune(ctx, llmd.Request{Path: path, Body: request})
		times = append(times, time.Since(started))
		sent, err := json.Marshal(pruned)
		if err != nil {
			return report{}, err
		}
		made.count(len(sent), len(body))
	}
	made.LLMD = median(times)
	return made, nil
}

// count counts a body that became shorter by more than how it is written.
func (r *report) count(sent, came int) {
	if sent < came*9/10 {
		r.Shortened++
	}
}

func median(times []time.Duration) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return float64(times[len(times)/2].Microseconds()) / 1000
}
