package gateway

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const prefix = "x-pinch-"

// asked is what a request asks for in its headers x-pinch-*.
type asked struct {
	bypass  bool
	dryRun  bool
	format  pinchv1.Format
	limits  *pinchv1.Limits
	context *pinchv1.RequestContext
}

// read reads the headers of a request. One that is unknown or malformed is an error: what its sender wanted
// is then not known, and the request is left alone.
func read(headers map[string]string) (asked, error) {
	made := asked{limits: &pinchv1.Limits{}, context: &pinchv1.RequestContext{}}
	limits := map[string]any{}
	for name, text := range headers {
		name = strings.ToLower(name)
		if name == "x-request-id" {
			made.context.RequestId = text
		}
		key, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		known, err := made.take(key, strings.TrimSpace(text))
		if err != nil {
			return asked{}, err
		}
		if !known {
			if limits[strings.ReplaceAll(key, "-", "_")], err = limit(key, strings.TrimSpace(text)); err != nil {
				return asked{}, err
			}
		}
	}
	if len(limits) == 0 {
		return made, nil
	}
	text, err := json.Marshal(limits)
	if err != nil {
		return asked{}, err
	}
	return made, protojson.Unmarshal(text, made.limits)
}

// take takes what is no limit; it returns whether the header is one of those.
func (a *asked) take(key, text string) (bool, error) {
	var err error
	switch key {
	case "bypass":
		a.bypass, err = boolean(text)
	case "dry-run":
		a.dryRun, err = boolean(text)
	case "format":
		a.format, err = formatOf(text)
	case "route":
		route, known := pinchv1.Route_value["ROUTE_"+strings.ToUpper(text)]
		a.context.Route = pinchv1.Route(route)
		if !known || route == 0 {
			err = fmt.Errorf("%q is no route", text)
		}
	case "session-id":
		a.context.SessionId = text
	case "model":
		a.context.Model = text
	case "prompt-rate":
		a.rates().Prompt = text
	case "cached-rate":
		a.rates().CachedPrompt = text
	case "cache-write-rate":
		a.rates().CacheWrite = text
	case "cache-state":
		state, known := pinchv1.CacheState_value["CACHE_STATE_"+strings.ToUpper(text)]
		a.cache().State = pinchv1.CacheState(state)
		if !known || state == 0 {
			err = fmt.Errorf("%q is no state of a cache; give warm, cold or none", text)
		}
	case "cache-ttl-seconds":
		var seconds int32
		seconds, err = count(text)
		a.cache().TtlSeconds = proto.Int64(int64(seconds))
	case "expected-further-calls":
		var calls int32
		calls, err = count(text)
		a.cache().ExpectedFurtherCalls = proto.Int32(calls)
	default:
		return false, nil
	}
	return true, err
}

func (a *asked) rates() *pinchv1.Rates {
	if a.context.Rates == nil {
		a.context.Rates = &pinchv1.Rates{}
	}
	return a.context.Rates
}

func (a *asked) cache() *pinchv1.CacheContext {
	if a.context.Cache == nil {
		a.context.Cache = &pinchv1.CacheContext{}
	}
	return a.context.Cache
}

// count is a whole number from 0 on.
func count(text string) (int32, error) {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 0 {
		return 0, fmt.Errorf("%q is no whole number from 0 on", text)
	}
	return int32(number), nil
}

// over is the limits of a call: the given ones, and over them those of the headers; nil when there are none.
func (a *asked) over(given *pinchv1.Limits) *pinchv1.Limits {
	if proto.Size(a.limits) == 0 {
		return given
	}
	if given == nil {
		return a.limits
	}
	merged := proto.CloneOf(given)
	proto.Merge(merged, a.limits)
	if a.limits.ProtectedTools != nil {
		merged.ProtectedTools = a.limits.ProtectedTools // merging would append
	}
	return merged
}

// limit is a limit's value as protobuf's JSON has it.
func limit(key, text string) (any, error) {
	fields := (*pinchv1.Limits)(nil).ProtoReflect().Descriptor().Fields()
	field := fields.ByName(protoreflect.Name(strings.ReplaceAll(key, "-", "_")))
	if field == nil {
		return nil, fmt.Errorf("the header %s%s is not known", prefix, key)
	}
	switch field.Kind() {
	case protoreflect.BoolKind:
		return boolean(text)
	case protoreflect.EnumKind:
		unset := string(field.Enum().Values().Get(0).Name())
		if strings.EqualFold(text, "unspecified") {
			return nil, fmt.Errorf("%q is none of %s%s", text, prefix, key)
		}
		return strings.TrimSuffix(unset, "UNSPECIFIED") + strings.ToUpper(text), nil
	case protoreflect.MessageKind:
		globs := []string{}
		for glob := range strings.SplitSeq(text, ",") {
			if glob = strings.TrimSpace(glob); glob != "" {
				globs = append(globs, glob)
			}
		}
		return map[string][]string{"globs": globs}, nil
	default:
		return text, nil
	}
}

func boolean(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

// formatOf is a dialect by the name that headers have for it.
func formatOf(name string) (pinchv1.Format, error) {
	switch name {
	case "openai-chat":
		return pinchv1.Format_FORMAT_OPENAI_CHAT, nil
	case "anthropic":
		return pinchv1.Format_FORMAT_ANTHROPIC_MESSAGES, nil
	case "openai-responses":
		return pinchv1.Format_FORMAT_OPENAI_RESPONSES, nil
	case "gemini":
		return pinchv1.Format_FORMAT_GEMINI, nil
	case "bedrock":
		return pinchv1.Format_FORMAT_BEDROCK_CONVERSE, nil
	}
	return 0, fmt.Errorf("%q is no dialect", name)
}
