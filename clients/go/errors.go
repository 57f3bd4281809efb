package pinch

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// CallError says that the server answered with another status than OK, or not at all, or not in time.
//
// Its text is one line and never quotes the conversation.
type CallError struct {
	// Code is the gRPC status: DeadlineExceeded when time ran out, Unavailable when nobody answered.
	Code codes.Code
	// Details are the server's own words, shortened to one line.
	Details string

	cause error
}

// Error is the name of the status, as the gRPC documents spell it, and the details.
func (e *CallError) Error() string {
	if e.Details == "" {
		return codeName(e.Code)
	}
	return codeName(e.Code) + ": " + e.Details
}

// Unwrap is gRPC's own error, for what else it carries, such as field violations.
func (e *CallError) Unwrap() error { return e.cause }

// ReplyError says that the server's reply does not fit the conversation that was sent, so none of it was used.
type ReplyError struct{ problem string }

// Error is what does not fit, in one line that never quotes the conversation.
func (e *ReplyError) Error() string { return e.problem }

// RequestError says that there was nothing to send, or that it could not be put into a request.
type RequestError struct{ problem string }

// Error is what is wrong, in one line that never quotes the conversation.
func (e *RequestError) Error() string { return e.problem }

func replyErrorf(format string, arguments ...any) error {
	return &ReplyError{problem: fmt.Sprintf(format, arguments...)}
}

func callError(cause error) error {
	said := status.Convert(cause)
	return &CallError{Code: said.Code(), Details: oneLine(said.Message()), cause: cause}
}

// slug is a failure as a metric's label has it: the status in lower case, or what did not fit.
func slug(failure error) string {
	var failed *CallError
	if errors.As(failure, &failed) {
		return strings.ToLower(codeName(failed.Code))
	}
	var refused *ReplyError
	if errors.As(failure, &refused) {
		return "invalid_reply"
	}
	return "invalid_request"
}

// oneLine makes the words of a server fit for a log: one line of at most 300 characters.
func oneLine(words string) string {
	const longest = 300
	if len(words) > 10*longest {
		words = words[:10*longest]
	}
	line := []rune(strings.ToValidUTF8(strings.Join(strings.Fields(words), " "), "\uFFFD"))
	return string(line[:min(len(line), longest)])
}

// codeName spells a status as the gRPC documents and all clients of Pinch do: DEADLINE_EXCEEDED.
func codeName(code codes.Code) string {
	if code == codes.Canceled {
		return "CANCELLED"
	}
	var name strings.Builder
	for place, letter := range code.String() {
		if place > 0 && 'A' <= letter && letter <= 'Z' {
			name.WriteByte('_')
		}
		name.WriteRune(letter)
	}
	return strings.ToUpper(name.String())
}
