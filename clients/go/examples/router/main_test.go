package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

func TestMain(m *testing.M) { os.Exit(pinchtest.Main(m)) }

// upstream is a stub of the models: it keeps the last body and answers with a status.
type upstream struct {
	status int
	body   []byte
	path   string
}

func (u *upstream) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	u.path = request.URL.Path
	u.body, _ = io.ReadAll(request.Body)
	response.WriteHeader(u.status)
	_, _ = response.Write([]byte(`{"choices":[]}`))
}

// ask sends a body through a router to a stub.
func ask(t *testing.T, address string, to *upstream, body string) *http.Response {
	t.Helper()
	client, err := pinch.New(address, pinch.WithTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	models := httptest.NewServer(to)
	defer models.Close()
	target, err := url.Parse(models.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&router{pinch: client, upstream: target})
	defer front.Close()
	request, err := http.NewRequest(http.MethodPost, front.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Request-Id", t.Name())
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer
}

// A conversation that only the large model could hold goes to the small one, and the outcome is on record.
func TestRouterPrunesPicksAndForwards(t *testing.T) {
	address := pinchtest.Real(t)
	to, body := &upstream{status: http.StatusOK}, pinchtest.Session(6_000)
	if answer := ask(t, address, to, body); answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
	if to.path != "/v1/chat/completions" || len(to.body) >= len(body) || !json.Valid(to.body) {
		t.Errorf("%s got %d bytes of %d", to.path, len(to.body), len(body))
	}
	if start := `{"n":1.0,"model":"small","messages":[`; !strings.HasPrefix(string(to.body), start) {
		t.Errorf("the body begins with %.60s", to.body)
	}
	stored := pinchtest.Reported(t, address)
	if stored.GetOutcome() != pinchv1.Outcome_OUTCOME_DISPATCHED || stored.GetSelectedModel() != "small" {
		t.Errorf("%v", stored)
	}
}

// A named model gets the conversation, pruned once, though a smaller one would hold it: PASSTHROUGH is on record.
func TestRouterPassesThrough(t *testing.T) {
	address := pinchtest.Real(t)
	to, body := &upstream{status: http.StatusOK}, strings.Replace(pinchtest.Session(6_000), "auto", "large", 1)
	if answer := ask(t, address, to, body); answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
	if start := `{"n":1.0,"model":"large","messages":[`; !strings.HasPrefix(string(to.body), start) {
		t.Errorf("the body begins with %.60s", to.body)
	}
	stored := pinchtest.Reported(t, address)
	if len(to.body) >= len(body) || stored.GetRoute() != pinchv1.Route_ROUTE_PASSTHROUGH {
		t.Errorf("%d bytes of %d; %v", len(to.body), len(body), stored)
	}
}

// A named model that is too small is not called, though another would do: REJECTED is on record.
func TestRouterRefusesToPassThrough(t *testing.T) {
	address := pinchtest.Real(t)
	said := `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat("word ", 40_000) + `"}]}`
	to := &upstream{status: http.StatusOK}
	if answer := ask(t, address, to, said); answer.StatusCode != http.StatusRequestEntityTooLarge || to.body != nil {
		t.Errorf("status %d", answer.StatusCode)
	}
	stored := pinchtest.Reported(t, address)
	if stored.GetOutcome() != pinchv1.Outcome_OUTCOME_REJECTED ||
		stored.GetRoute() != pinchv1.Route_ROUTE_PASSTHROUGH {
		t.Errorf("%v", stored)
	}
}

// A short conversation goes to the small model as it is; an upstream that fails is on record as failed.
func TestRouterReportsAFailure(t *testing.T) {
	address := pinchtest.Real(t)
	to := &upstream{status: http.StatusBadGateway}
	answer := ask(t, address, to, `{"messages":[{"role":"user","content":"hi"}],"model": "auto" }`)
	if answer.StatusCode != http.StatusBadGateway {
		t.Errorf("status %d", answer.StatusCode)
	}
	if want := `{"messages":[{"role":"user","content":"hi"}],"model": "small" }`; string(to.body) != want {
		t.Errorf("%s", to.body)
	}
	if stored := pinchtest.Reported(t, address); stored.GetOutcome() != pinchv1.Outcome_OUTCOME_FAILED {
		t.Errorf("%v", stored)
	}
}

// Without a Pinch service the conversation goes to the largest model as it came.
func TestRouterWithoutPinch(t *testing.T) {
	to, body := &upstream{status: http.StatusOK}, pinchtest.Session(10)
	if answer := ask(t, "127.0.0.1:1", to, body); answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
	if want := strings.Replace(body, "auto", "large", 1); string(to.body) != want {
		t.Errorf("%s", to.body)
	}
}

// What no model can hold is refused, and on record as such; so is what cannot be forwarded.
func TestRouterRefuses(t *testing.T) {
	huge := `{"model":"auto","messages":[{"role":"user","content":"` + strings.Repeat("word ", 800_000) + `"}]}`
	for body, status := range map[string]int{
		huge:                             http.StatusRequestEntityTooLarge,
		`{"messages":[]}`:                http.StatusBadRequest,
		`[]`:                             http.StatusBadRequest,
		`{"messages":[],"model":`:        http.StatusBadRequest,
		`{"messages" [],"model":"auto"}`: http.StatusBadRequest,
	} {
		to := &upstream{status: http.StatusOK}
		if answer := ask(t, pinchtest.Real(t), to, body); answer.StatusCode != status || to.body != nil {
			t.Errorf("%.40s: status %d", body, answer.StatusCode)
		}
	}
}
