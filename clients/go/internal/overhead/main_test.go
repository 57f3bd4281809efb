package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
)

func TestMain(m *testing.M) { os.Exit(pinchtest.Main(m)) }

// A file is measured with the edits that a real server gives for it.
func TestMeasure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body.json")
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	result := `{"role":"tool","tool_call_id":"c","content":"` + strings.Repeat("word ", 60_000) + `"}`
	body := `{"messages":[{"role":"user","content":"go"},` + call + `,` + result + `,{"role":"user","content":"next"}]}`
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	measured, err := measure(pinchtest.Real(t), file, 3)
	if err != nil {
		t.Fatal(err)
	}
	if measured.Edits != 1 || measured.Bytes != len(body) || measured.ClientMillis <= 0 || measured.StubMillis <= 0 {
		t.Errorf("%+v", measured)
	}
	if _, err := measure(pinchtest.Real(t), file, 0); err == nil {
		t.Error("no rounds were measured")
	}
}
