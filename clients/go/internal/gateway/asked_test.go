package gateway

import (
	"testing"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Each header that the page names is understood, whatever the case of its name.
func TestHeadersAreUnderstood(t *testing.T) {
	got, err := read(map[string]string{
		"x-pinch-budget-tokens": " 500 ", "X-Pinch-Keep-Last-Turns": "2", "x-pinch-max-summarize-chars": "4000",
		"x-pinch-protected-max-chars": "5", "x-pinch-extra-fixed-tokens": "6", "x-pinch-keep-last-rounds": "7",
		"x-pinch-target-tokens": "8", "x-pinch-min-tokens-saved": "9", "x-pinch-min-gain": "0.25",
		"x-pinch-protected-tools": "read_*, grep", "x-pinch-relevance": "false", "x-pinch-stability": "per_call",
		"x-pinch-trim-style": "keyed", "x-pinch-dry-run": "1", "x-pinch-format": "gemini", "x-pinch-route": "routed",
		"x-pinch-session-id": "s", "x-pinch-model": "m", "x-pinch-prompt-rate": "1.5", "x-pinch-cached-rate": "0.1",
		"x-pinch-cache-write-rate": "2", "x-pinch-bypass": "true", "x-pinch-cache-state": "Cold",
		"x-pinch-cache-ttl-seconds": "300", "x-pinch-expected-further-calls": "0", "X-Request-Id": "r", "Accept": "*/*",
	})
	if err != nil {
		t.Fatal(err)
	}
	limits, context := &pinchv1.Limits{}, &pinchv1.RequestContext{}
	for text, into := range map[string]proto.Message{
		`budget_tokens: 500 keep_last_turns: 2 max_summarize_chars: 4000 protected_max_chars: 5 extra_fixed_tokens: 6
		 keep_last_rounds: 7 target_tokens: 8 min_tokens_saved: 9 min_gain: 0.25 relevance: false
		 protected_tools { globs: "read_*" globs: "grep" } stability: STABILITY_PER_CALL trim_style: TRIM_STYLE_KEYED`: limits,
		`request_id: "r" session_id: "s" route: ROUTE_ROUTED model: "m"
		 rates { prompt: "1.5" cached_prompt: "0.1" cache_write: "2" }
		 cache { state: CACHE_STATE_COLD ttl_seconds: 300 expected_further_calls: 0 }`: context,
	} {
		if err := prototext.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if !proto.Equal(got.limits, limits) || !proto.Equal(got.context, context) {
		t.Errorf("%v\n%v", got.limits, got.context)
	}
	if !got.bypass || !got.dryRun || got.format != pinchv1.Format_FORMAT_GEMINI {
		t.Errorf("%+v", got)
	}
}

// A header that is misspelt or malformed is an error, never another wish.
func TestHeadersThatAreNone(t *testing.T) {
	for name, text := range map[string]string{
		"x-pinch-budget": "5", "x-pinch-budget-tokens": "five", "x-pinch-keep-last-turns": "99999999999",
		"x-pinch-min-gain": "much", "x-pinch-relevance": "perhaps", "x-pinch-stability": "always",
		"x-pinch-bypass": "", "x-pinch-dry-run": "yes", "x-pinch-format": "morse", "x-pinch-route": "scenic",
		"x-pinch-cache-state": "tepid", "x-pinch-cache-ttl-seconds": "-1", "x-pinch-expected-further-calls": "1.5",
	} {
		if got, err := read(map[string]string{name: text}); err == nil {
			t.Errorf("%s: %s is %+v", name, text, got)
		}
	}
	// What the API calls unspecified is nothing that a header can ask for.
	for _, name := range []string{"x-pinch-cache-state", "x-pinch-route", "x-pinch-stability", "x-pinch-trim-style"} {
		text := "unspecified"
		if got, err := read(map[string]string{name: text}); err == nil {
			t.Errorf("%s: %s is %+v", name, text, got)
		}
	}
}

// Limits of the headers go over the given ones, which do not change.
func TestLimitsOfHeadersGoOverTheGiven(t *testing.T) {
	given := &pinchv1.Limits{
		BudgetTokens: proto.Int64(1), KeepLastTurns: proto.Int32(3),
		ProtectedTools: &pinchv1.ToolGlobs{Globs: []string{"a"}},
	}
	kept := proto.CloneOf(given)
	got, err := read(map[string]string{"x-pinch-budget-tokens": "2", "x-pinch-protected-tools": "b"})
	if err != nil {
		t.Fatal(err)
	}
	want := &pinchv1.Limits{
		BudgetTokens: proto.Int64(2), KeepLastTurns: proto.Int32(3),
		ProtectedTools: &pinchv1.ToolGlobs{Globs: []string{"b"}},
	}
	if merged := got.over(given); !proto.Equal(merged, want) || !proto.Equal(given, kept) {
		t.Errorf("%v of %v", merged, given)
	}
	if unasked, _ := read(nil); unasked.over(given) != given {
		t.Error("without headers the given limits are not taken as they are")
	}
}

// Paths that carry conversations are known by their ends, all others are left alone.
func TestDialectOfPaths(t *testing.T) {
	for path, want := range map[string]pinchv1.Format{
		"/openai/v1/chat/completions": pinchv1.Format_FORMAT_OPENAI_CHAT,
		"/v1/messages/?beta=true":     pinchv1.Format_FORMAT_ANTHROPIC_MESSAGES,
		"/v1/responses":               pinchv1.Format_FORMAT_OPENAI_RESPONSES,
		"/genai/v1beta/models/gemini-2.5-pro:streamGenerateContent?a=b": pinchv1.Format_FORMAT_GEMINI,
		"/bedrock/model/m/converse-stream":                              pinchv1.Format_FORMAT_BEDROCK_CONVERSE,
		"/v1/embeddings":                                                0,
		"/v1/messages/count_tokens":                                     0,
	} {
		if got, carries := dialectOf(path); got != want || carries != (want != 0) {
			t.Errorf("%s: %v", path, got)
		}
	}
}
