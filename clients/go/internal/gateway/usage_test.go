package gateway

import (
	"strings"
	"testing"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/protobuf/proto"
)

func counted(prompt, cached, written, answer int64) *pinchv1.TokenUsage {
	made := &pinchv1.TokenUsage{PromptTokens: &prompt, CompletionTokens: &answer}
	if cached >= 0 {
		made.CachedTokens = &cached
	}
	if written >= 0 {
		made.CacheWriteTokens = &written
	}
	return made
}

// What each dialect's answer says was used is read, prompt tokens with the cached ones, however it is cut to pieces.
func TestUsageOfEachDialect(t *testing.T) {
	for name, one := range map[string]struct {
		answer string
		model  string
		want   *pinchv1.TokenUsage
	}{
		"chat": {`{"model":"a","usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`,
			"a", counted(9, 4, -1, 2)},
		"chat, streamed": {"data: {\"model\":\"a\",\"usage\":null}\n\ndata: {\"model\":\"a\",\"choices\":[]," +
			"\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", "a", counted(9, -1, -1, 2)},
		"responses, streamed": {"event: response.completed\ndata: {\"response\":{\"model\":\"b\",\"usage\":{\"input_tokens\":9," +
			"\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":2}}}\n\n", "b", counted(9, 4, -1, 2)},
		"messages, streamed": {"data: {\"message\":{\"model\":\"c\",\"usage\":{\"input_tokens\":2,\"cache_read_input_tokens\":4," +
			"\"cache_creation_input_tokens\":3,\"output_tokens\":1}}}\n\ndata: {\"usage\":{\"output_tokens\":8}}\n\n",
			"c", counted(9, 4, 3, 8)},
		"gemini, an array": {`[{"usageMetadata":{"promptTokenCount":9}},{"modelVersion":"d","usageMetadata":` +
			`{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":1,"thoughtsTokenCount":1}}]`,
			"d", counted(9, 4, -1, 2)},
		"converse": {`{"usage":{"inputTokens":2,"cacheReadInputTokens":4,"cacheWriteInputTokens":3,"outputTokens":2}}`,
			"", counted(9, 4, 3, 2)},
		"an error":             {`{"error":{"message":"no"}}`, "", nil},
		"counts that are none": {`{"usage":{"prompt_tokens":"many"}}`, "", nil},
		"no JSON":              {`{"usage`, "", nil},
		"nothing":              {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for size := range len(one.answer) {
				var read usage
				for rest := one.answer; rest != ""; {
					piece := rest[:min(size+1, len(rest))]
					rest = rest[len(piece):]
					read.feed([]byte(piece))
				}
				read.end()
				if got := read.tokens(); !proto.Equal(got, one.want) || read.model != one.model {
					t.Fatalf("in pieces of %d: %v of %q", size+1, got, read.model)
				}
			}
		})
	}
}

// Of an answer too long to hold nothing is kept.
func TestUsageHoldsALimitedPart(t *testing.T) {
	var read usage
	read.feed([]byte(`{"x":"`))
	read.feed([]byte(strings.Repeat("x", mostBytes)))
	read.feed([]byte(`","usage":{"prompt_tokens":1}}`))
	read.end()
	if read.held != nil || read.tokens() != nil {
		t.Errorf("%d bytes are held", len(read.held))
	}
}
