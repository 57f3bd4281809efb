package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
)

func TestMain(m *testing.M) { os.Exit(pinchtest.Main(m)) }

// Both steps are measured on bodies that a real server shortens.
func TestMeasured(t *testing.T) {
	body := json.RawMessage(pinchtest.Session(6_000))
	input, err := json.Marshal(asked{pinchtest.Real(t), []json.RawMessage{body}, []json.RawMessage{body}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := measured(strings.NewReader(string(input)))
	if err != nil || made.Shortened != 2 || made.Bifrost <= 0 || made.LLMD <= 0 {
		t.Errorf("%+v, %v", made, err)
	}
}

// What is not the form that it reads is an error.
func TestMeasuredNothing(t *testing.T) {
	for _, input := range []string{"", "[]", `{"address": "127.0.0.1:1", "llmd": [1]}`} {
		if made, err := measured(strings.NewReader(input)); err == nil {
			t.Errorf("%s: %+v", input, made)
		}
	}
}
