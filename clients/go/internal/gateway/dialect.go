package gateway

import (
	"strings"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

// dialects are the ends of paths that carry conversations: gateways put prefixes of their own before them.
var dialects = []struct {
	end    string
	format pinchv1.Format
}{
	{"/chat/completions", pinchv1.Format_FORMAT_OPENAI_CHAT},
	{"/messages", pinchv1.Format_FORMAT_ANTHROPIC_MESSAGES},
	{"/responses", pinchv1.Format_FORMAT_OPENAI_RESPONSES},
	{"/converse", pinchv1.Format_FORMAT_BEDROCK_CONVERSE},
	{"/converse-stream", pinchv1.Format_FORMAT_BEDROCK_CONVERSE},
	{":generateContent", pinchv1.Format_FORMAT_GEMINI},
	{":streamGenerateContent", pinchv1.Format_FORMAT_GEMINI},
}

// dialectOf is the dialect of what is posted to a path; false where no conversation is.
func dialectOf(path string) (pinchv1.Format, bool) {
	bare, _, _ := strings.Cut(path, "?")
	bare = strings.TrimRight(bare, "/")
	for _, known := range dialects {
		if strings.HasSuffix(bare, known.end) {
			return known.format, true
		}
	}
	return pinchv1.Format_FORMAT_UNSPECIFIED, false
}
