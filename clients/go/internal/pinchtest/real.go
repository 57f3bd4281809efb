package pinchtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	python := interpreter(t)
	root := Root(t)
	shared.once.Do(func() { shared.server, shared.err = start(python, root) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Address
}

// Start starts a real server of a test's own, with further options for `serve`.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	server, err := start(interpreter(t), Root(t), options...)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// interpreter is the Python that has what the server needs: PINCH_PYTHON, the project's own, or the one on PATH.
func interpreter(t testing.TB) string {
	t.Helper()
	root := Root(t)
	for _, python := range []string{
		os.Getenv("PINCH_PYTHON"), filepath.Join(root, ".venv", "bin", "python"), "python3",
	} {
		if python == "" {
			continue
		}
		command := exec.Command(python, "-c", "import pinch_server.cli")
		command.Env = environment(root)
		if command.Run() == nil {
			return python
		}
	}
	missing(t, "no Python that can run pinch_server; PINCH_PYTHON may name one")
	return ""
}

func start(python, root string, options ...string) (*Server, error) {
	command := exec.Command(python, append([]string{"-m", "pinch_server", "serve", "--testing"}, options...)...)
	command.Env = environment(root)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
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
		return nil, errors.Join(fmt.Errorf("the server's first line was %q: %w", line, err), command.Process.Kill())
	}
	return &Server{Address: ready.GRPC, process: command}, nil
}

// environment is this process's without settings of Pinch: the shipped defaults are what is tested.
func environment(root string) []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PINCH_") && !strings.HasPrefix(variable, "PYTHONPATH=") {
			kept = append(kept, variable)
		}
	}
	paths := []string{filepath.Join(root, "server"), filepath.Join(root, "clients", "python"), root}
	return append(kept, "PYTHONPATH="+strings.Join(paths, string(os.PathListSeparator)))
}
