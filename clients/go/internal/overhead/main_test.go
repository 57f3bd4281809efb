//go:build unix

package main

import (
	"testing"

	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
)

// Each pair of calls gives its four times; a server that fails, or does not prune, gives none.
func TestMeasure(t *testing.T) {
	body := []byte(`{"messages":[{"role":"tool","content":"old"}]}`)
	server := pinchtest.Script(t, pinchtest.Trim(`"old"`, `"new"`))
	found, err := measure(server.Address, body, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range [][]float64{found.StubCPU, found.ClientCPU, found.StubWall, found.ClientWall} {
		if len(each) != 3 {
			t.Errorf("%+v", found)
		}
	}
	if len(server.Calls()) != 8 {
		t.Errorf("%d calls", len(server.Calls()))
	}
	unchanged := pinchtest.Script(t, pinchtest.Unchanged)
	if _, err := measure(unchanged.Address, body, 3); err == nil {
		t.Error("a client that did nothing was measured")
	}
}
