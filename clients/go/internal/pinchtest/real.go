package pinchtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server is a running `pinch serve --testing`.
type Server struct {
	// Address is what it printed: host:port or unix:/path.
	Address string
	process *exec.Cmd
}

// Stop ends the server as a supervisor would and waits for it.
func (s *Server) Stop() error {
	return errors.Join(s.process.Process.Signal(os.Interrupt), s.process.Wait())
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Main runs a package's tests and then stops the server that they shared.
func Main(m *testing.M) int {
	status := m.Run()
	if shared.server != nil {
		if err := shared.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "the server did not stop as it should:", err)
			return max(status, 1)
		}
	}
	return status
}

// Real is the address of a real server that all tests of a package share.
func Real(t testing.TB) string {
	t.Helper()
	words := command(t)
	shared.once.Do(func() { shared.server, shared.err = start(words) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Address
}

// Start starts a real server of a test's own, with further options for `serve`.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	server, err := start(command(t), options...)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// command is what starts a server: PINCHTEST_COMMAND split at blanks, or `pinch serve --testing`.
func command(t testing.TB) []string {
	t.Helper()
	words := strings.Fields(os.Getenv("PINCHTEST_COMMAND"))
	if len(words) == 0 {
		words = []string{"pinch", "serve", "--testing"}
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		missing(t, words[0]+" is not installed; PINCHTEST_COMMAND may say how to start a server")
	}
	return words
}

func start(words []string, options ...string) (*Server, error) {
	process := exec.Command(words[0], append(words[1:], options...)...)
	process.Env = environment()
	said := &bytes.Buffer{}
	process.Stderr = said
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	var ready struct {
		GRPC string `json:"grpc"`
	}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		_ = process.Process.Kill()
		_ = process.Wait()
		return nil, fmt.Errorf("the server's first line was %q: %w\n%s", line, err, said)
	}
	return &Server{Address: ready.GRPC, process: process}, nil
}

// environment is this process's without settings of Pinch: the shipped defaults are what is tested.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "PINCH_") })
}
