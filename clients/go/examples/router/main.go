// Command router is an LLM router in one file: it takes OpenAI Chat Completions bodies, lets Pinch shorten and
// measure them, picks the smallest model that can hold what is left, and forwards.
//
//	router -listen 127.0.0.1:8080 -pinch 127.0.0.1:50051 -upstream https://llm.example.com
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

// model is one that the router may pick.
type model struct {
	name string
	// window is how much it can hold, in tokens.
	window int64
}

// models are those that there are, the smallest first.
var models = []model{{"small", 16_000}, {"medium", 128_000}, {"large", 1_000_000}}

// router picks a model for each conversation, shortened first.
type router struct {
	pinch    *pinch.Client
	upstream *url.URL
}

// ServeHTTP prunes, measures, picks a model, forwards, and tells Pinch what became of it.
func (r *router) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, pinch.MessageLimit))
	if err != nil {
		http.Error(response, "the body cannot be read", http.StatusBadRequest)
		return
	}
	// A request that names a model of ours passes through to it, when it holds what is left; any other is routed.
	// Either way it is pruned once, before it is measured.
	candidates, route := models, pinchv1.Route_ROUTE_ROUTED
	asked := named(body)
	if at := slices.IndexFunc(models, func(one model) bool { return one.name == asked }); at >= 0 {
		candidates, route = models[at:at+1], pinchv1.Route_ROUTE_PASSTHROUGH
	}
	// The error is for strict clients; here the body can be sent on whatever happened.
	pruned, _ := r.pinch.PruneOpenAI(request.Context(), body, pinch.WithRequestContext(&pinchv1.RequestContext{
		RequestId: request.Header.Get("X-Request-Id"),
		Route:     route,
	}))
	picked, fits := pick(candidates, pruned.Reply.GetMeasured())
	slog.Info("routed", "pruned", pruned.Pruned, "reason", pruned.Reason, "error", pruned.Err, "model", picked.name,
		"saved", pruned.Reply.GetStats().GetTokensSaved())
	report := &pinchv1.ReportOutcomeRequest{DecisionId: pruned.Reply.GetDecisionId(), SelectedModel: picked.name}
	defer r.report(request.Context(), report)
	report.Outcome = pinchv1.Outcome_OUTCOME_REJECTED
	if !fits {
		http.Error(response, "no model can hold this conversation", http.StatusRequestEntityTooLarge)
		return
	}
	forwarded, err := withModel(pruned.Body, picked.name)
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	report.Outcome = r.forward(response, request, forwarded)
}

// named is the model that a body names; empty when it names none.
func named(body []byte) string {
	var request struct {
		Model string `json:"model"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return ""
	}
	return request.Model
}

// pick finds the smallest model that holds a prompt. Not measured, as after a failure, it gets the largest.
func pick(candidates []model, measured *pinchv1.Measured) (model, bool) {
	largest := candidates[len(candidates)-1]
	if measured == nil {
		return largest, true
	}
	// The true size is at most the estimate / (1 - bound), and has no upper end where the bound is 1.
	most := float64(measured.GetTokens()) / (1 - measured.GetErrorBound())
	for _, candidate := range candidates {
		if most <= float64(candidate.window) {
			return candidate, true
		}
	}
	return largest, float64(measured.GetTokens()) <= float64(largest.window)
}

// withModel names another model in a body; every other byte stays as it is, so prompt caches stay warm.
func withModel(body []byte, name string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("the body is no JSON object")
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, errors.New("the body is no JSON")
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, errors.New("the body is no JSON")
		}
		if key == "model" {
			end := int(decoder.InputOffset())
			quoted, err := json.Marshal(name)
			return slices.Concat(body[:end-len(value)], quoted, body[end:]), err
		}
	}
	return nil, errors.New("the body names no model")
}

// forward sends a body on, streams the answer back and says what became of it.
func (r *router) forward(response http.ResponseWriter, request *http.Request, body []byte) pinchv1.Outcome {
	outcome := pinchv1.Outcome_OUTCOME_FAILED
	proxy := httputil.ReverseProxy{
		Rewrite: func(proxied *httputil.ProxyRequest) {
			proxied.SetURL(r.upstream)
			proxied.Out.Body = io.NopCloser(bytes.NewReader(body))
			proxied.Out.ContentLength = int64(len(body))
		},
		FlushInterval: -1,
		ModifyResponse: func(answer *http.Response) error {
			if answer.StatusCode < http.StatusBadRequest {
				outcome = pinchv1.Outcome_OUTCOME_DISPATCHED
			}
			return nil
		},
	}
	proxy.ServeHTTP(response, request)
	return outcome
}

// report tells Pinch what became of a request, also when its caller has gone.
func (r *router) report(ctx context.Context, report *pinchv1.ReportOutcomeRequest) {
	if held, _ := r.pinch.ReportOutcome(context.WithoutCancel(ctx), report); !held {
		slog.Warn("the outcome was not held", "decision", report.GetDecisionId())
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen on")
	service := flag.String("pinch", "127.0.0.1:50051", "`address` of the Pinch service")
	to := flag.String("upstream", "", "`URL` of the models")
	flag.Parse()
	upstream, err := url.Parse(*to)
	if err != nil || upstream.Host == "" {
		log.Fatal("-upstream must be the URL of the models")
	}
	client, err := pinch.New(*service)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Addr: *listen, Handler: &router{pinch: client, upstream: upstream}, ReadHeaderTimeout: 10 * time.Second,
	}
	log.Fatal(errors.Join(server.ListenAndServe(), client.Close()))
}
