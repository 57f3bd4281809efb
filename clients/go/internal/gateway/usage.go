package gateway

import (
	"bytes"
	"encoding/json"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

// mostBytes is the most of an answer that is held at once: all of one object, or one line of a stream.
const mostBytes = 16 << 20

// usage reads an answer as it passes, one JSON object or a stream of events, and keeps the counts alone.
type usage struct {
	model  string
	counts counts
	found  bool
	held   []byte
	begun  bool
	lines  bool
	lost   bool
}

// counts are what the dialects call their counts. None uses another's names for something else.
type counts struct {
	PromptTokens     *int64 `json:"prompt_tokens"`
	CompletionTokens *int64 `json:"completion_tokens"`
	PromptDetails    *struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`

	InputTokens  *int64 `json:"input_tokens"`
	OutputTokens *int64 `json:"output_tokens"`
	InputDetails *struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`

	GeminiPrompt   *int64 `json:"promptTokenCount"`
	GeminiCached   *int64 `json:"cachedContentTokenCount"`
	GeminiAnswer   *int64 `json:"candidatesTokenCount"`
	GeminiThoughts *int64 `json:"thoughtsTokenCount"`
	BedrockPrompt  *int64 `json:"inputTokens"`
	BedrockAnswer  *int64 `json:"outputTokens"`
	BedrockCached  *int64 `json:"cacheReadInputTokens"`
	BedrockWritten *int64 `json:"cacheWriteInputTokens"`
}

// feed takes the next piece of an answer.
func (u *usage) feed(piece []byte) {
	if u.lost {
		return
	}
	u.held = append(u.held, piece...)
	if start := bytes.TrimLeft(u.held, " \t\r\n"); !u.begun && len(start) > 0 {
		u.begun, u.lines = true, start[0] != '{' && start[0] != '['
	}
	if end := bytes.LastIndexByte(u.held, '\n'); u.lines && end >= 0 {
		for line := range bytes.SplitSeq(u.held[:end], []byte("\n")) {
			u.event(line)
		}
		u.held = append(u.held[:0], u.held[end+1:]...)
	}
	if len(u.held) > mostBytes {
		u.lost, u.held = true, nil
	}
}

// end reads what is left; after the last piece.
func (u *usage) end() {
	if u.lines {
		u.event(u.held)
	} else {
		u.object(u.held)
	}
	u.held = nil
}

// event reads one line of a stream; few but those that say what was used have the mark.
func (u *usage) event(line []byte) {
	if said, is := bytes.CutPrefix(line, []byte("data:")); is && bytes.Contains(said, []byte(`"usage`)) {
		u.object(said)
	}
}

// object reads one JSON object, or as Gemini's streams may have it an array of them. What is none is passed by.
func (u *usage) object(text []byte) {
	text = bytes.TrimSpace(text)
	if bytes.HasPrefix(text, []byte("[")) {
		var several []json.RawMessage
		if json.Unmarshal(text, &several) == nil {
			for _, one := range several {
				u.object(one)
			}
		}
		return
	}
	type holder struct {
		Model         string          `json:"model"`
		ModelVersion  string          `json:"modelVersion"`
		Usage         json.RawMessage `json:"usage"`
		UsageMetadata json.RawMessage `json:"usageMetadata"`
	}
	var said struct {
		holder
		Message  json.RawMessage `json:"message"`
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(text, &said) != nil {
		return
	}
	holders := []holder{said.holder, {}, {}}
	_ = json.Unmarshal(said.Message, &holders[1]) // absent, or a text: it then says nothing
	_ = json.Unmarshal(said.Response, &holders[2])
	for _, one := range holders {
		for _, name := range []string{one.Model, one.ModelVersion} {
			if name != "" {
				u.model = name
			}
		}
		for _, text := range []json.RawMessage{one.Usage, one.UsageMetadata} {
			if bytes.HasPrefix(text, []byte("{")) && json.Unmarshal(text, &u.counts) == nil {
				u.found = true
			}
		}
	}
}

// tokens is what was counted; nil when nothing was.
func (u *usage) tokens() *pinchv1.TokenUsage {
	if !u.found {
		return nil
	}
	c := u.counts
	made := &pinchv1.TokenUsage{}
	switch {
	case c.PromptTokens != nil:
		made.PromptTokens, made.CompletionTokens = c.PromptTokens, c.CompletionTokens
		if c.PromptDetails != nil {
			made.CachedTokens = c.PromptDetails.Cached
		}
	case c.InputTokens != nil && c.InputDetails != nil:
		made.PromptTokens, made.CompletionTokens, made.CachedTokens = c.InputTokens, c.OutputTokens, c.InputDetails.Cached
	case c.InputTokens != nil: // Anthropic's cached tokens come on top of the prompt's
		made.PromptTokens, made.CompletionTokens = sum(c.InputTokens, c.CacheRead, c.CacheWrite), c.OutputTokens
		made.CachedTokens, made.CacheWriteTokens = c.CacheRead, c.CacheWrite
	case c.GeminiPrompt != nil:
		made.PromptTokens, made.CachedTokens = c.GeminiPrompt, c.GeminiCached
		if c.GeminiAnswer != nil {
			made.CompletionTokens = sum(c.GeminiAnswer, c.GeminiThoughts)
		}
	case c.BedrockPrompt != nil: // and so do Bedrock's
		made.PromptTokens, made.CompletionTokens = sum(c.BedrockPrompt, c.BedrockCached, c.BedrockWritten), c.BedrockAnswer
		made.CachedTokens, made.CacheWriteTokens = c.BedrockCached, c.BedrockWritten
	}
	return made
}

func sum(parts ...*int64) *int64 {
	var total int64
	for _, part := range parts {
		if part != nil {
			total += *part
		}
	}
	return &total
}
