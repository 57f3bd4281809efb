package pinch

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
)

const (
	// DefaultTimeout is the time for a whole call, its retry included (C2).
	DefaultTimeout = 2 * time.Second
	// MessageLimit is the largest request and the largest reply, in bytes (C4).
	MessageLimit = 64 << 20
)

// Option is a setting of a [Client]. Every [CallOption] is one too, and then holds for every call.
type Option interface{ applyToClient(*settings) }

// CallOption is a setting of one call.
type CallOption interface {
	Option
	applyToCall(*callSettings)
}

type settings struct {
	strict bool
	token  *string
	tls    *tls.Config
	call   callSettings
	// metadata is names and values in turn.
	metadata []string
}

type callSettings struct {
	timeout time.Duration
	limits  *pinchv1.Limits
	context *pinchv1.RequestContext
	dryRun  bool
}

// of is the settings of one call.
func (s settings) of(options []CallOption) callSettings {
	made := s.call
	for _, option := range options {
		option.applyToCall(&made)
	}
	return made
}

type clientOption func(*settings)

func (o clientOption) applyToClient(s *settings) { o(s) }

type callOption func(*callSettings)

func (o callOption) applyToClient(s *settings)   { o(&s.call) }
func (o callOption) applyToCall(s *callSettings) { o(s) }

// WithStrict makes calls return the failure as an error where they else return only the conversation as it came.
func WithStrict() Option {
	return clientOption(func(s *settings) { s.strict = true })
}

// WithToken sends a bearer token with every call. Use it with TLS, a unix socket or loopback only: it is sent in
// plain text otherwise.
func WithToken(token string) Option {
	return clientOption(func(s *settings) { s.token = &token })
}

// WithTLS speaks TLS; nil means the system's trusted roots. For mutual TLS set Certificates, for a private
// authority RootCAs, for an address that is not in the certificate ServerName.
func WithTLS(config *tls.Config) Option {
	return clientOption(func(s *settings) {
		if config == nil {
			config = &tls.Config{}
		}
		s.tls = config.Clone()
	})
}

// WithMetadata sends a name and a value with every call, beside those of the context. Names are lower case; the
// client's own (pinch-client, authorization and grpc-...) are refused.
func WithMetadata(name, value string) Option {
	return clientOption(func(s *settings) { s.metadata = append(s.metadata, name, value) })
}

// WithTimeout is the time for a whole call, its retry included; [DefaultTimeout] without it. A context that ends
// sooner ends the call sooner. In one call, zero or less means that no time is left.
func WithTimeout(timeout time.Duration) CallOption {
	return callOption(func(s *callSettings) { s.timeout = timeout })
}

// WithLimits sets limits; fields that are nil take the server's settings. They are read during calls, so do not
// change them meanwhile.
func WithLimits(limits *pinchv1.Limits) CallOption {
	return callOption(func(s *callSettings) { s.limits = limits })
}

// WithRequestContext tells who calls, for which model, at what price. It is read during calls, so do not change
// it meanwhile.
func WithRequestContext(context *pinchv1.RequestContext) CallOption {
	return callOption(func(s *callSettings) { s.context = context })
}

// WithDryRun plans and counts, but changes nothing.
func WithDryRun() CallOption {
	return callOption(func(s *callSettings) { s.dryRun = true })
}

// settingsOf checks a client's options. No error quotes the token.
func settingsOf(options []Option) (settings, error) {
	made := settings{call: callSettings{timeout: DefaultTimeout}}
	for _, option := range options {
		option.applyToClient(&made)
	}
	if made.call.timeout <= 0 {
		return settings{}, fmt.Errorf("pinch: the timeout must be above 0, not %s", made.call.timeout)
	}
	if made.token != nil && !isPrintable(*made.token) {
		return settings{}, errors.New("pinch: the token must be printable ASCII and not empty")
	}
	for place := 0; place < len(made.metadata); place += 2 {
		if name := made.metadata[place]; !isFree(name) || !isPrintable(made.metadata[place+1]) {
			return settings{}, fmt.Errorf("pinch: the metadata %q cannot be sent", name)
		}
	}
	return made, nil
}

// ofHTTP1 are headers that HTTP/2 does not have: a peer may refuse the whole call for one of them.
var ofHTTP1 = []string{"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}

// isFree tells whether a caller may send metadata of this name.
func isFree(name string) bool {
	taken := name == "" || name == "pinch-client" || name == "authorization" || strings.HasPrefix(name, "grpc-")
	return !taken && !slices.Contains(ofHTTP1, name) && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

func isPrintable(text string) bool {
	for _, letter := range []byte(text) {
		if letter < ' ' || letter > '~' {
			return false
		}
	}
	return text != ""
}
