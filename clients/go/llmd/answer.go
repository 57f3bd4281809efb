package llmd

import (
	"net/http"
	"sync"

	"github.com/pinch-grpc/pinch/clients/go/internal/gateway"
)

// answer is the writer of an answer that reads what passes.
type answer struct {
	http.ResponseWriter

	call *gateway.Call
	// mutex is between what writes and the end of the request's context, which may come while it does.
	mutex  sync.Mutex
	status int
}

// WriteHeader notes the status of the answer.
func (a *answer) WriteHeader(status int) {
	a.note(status, nil)
	a.ResponseWriter.WriteHeader(status)
}

// Write reads a piece of the answer and passes it on.
func (a *answer) Write(piece []byte) (int, error) {
	a.note(http.StatusOK, piece)
	return a.ResponseWriter.Write(piece)
}

// Flush passes on what was written, where the writer can.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) note(status int, piece []byte) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.status < 200 { // after those that only inform
		a.status = status
	}
	a.call.Read(piece)
}

func (a *answer) report() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.call.Report(a.status)
}
