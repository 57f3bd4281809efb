package pinch

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// several is the scheme under which a list of addresses is resolved.
const several = "pinch"

// targetOf gives the gRPC target of one address or several, and what resolves it when they are several (C5).
func targetOf(addresses string) (string, resolver.Builder, error) {
	var listed []string
	for address := range strings.SplitSeq(addresses, ",") {
		address = strings.TrimSpace(address)
		if address == "" {
			return "", nil, errors.New("pinch: at least one address is needed, and none may be empty")
		}
		listed = append(listed, address)
	}
	if len(listed) == 1 {
		return listed[0], nil, nil
	}
	var state resolver.State
	for _, address := range listed {
		name, err := serverName(address)
		if err != nil {
			return "", nil, err
		}
		endpoint := resolver.Endpoint{Addresses: []resolver.Address{{Addr: address, ServerName: name}}}
		state.Endpoints = append(state.Endpoints, endpoint)
	}
	builder := manual.NewBuilderWithScheme(several)
	builder.InitialState(state)
	return several + ":///", builder, nil
}

// serverName is what the certificate of one address among several must be for, unless the TLS settings name it.
func serverName(address string) (string, error) {
	if strings.HasPrefix(address, "unix:") {
		return "localhost", nil
	}
	if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" || strings.Contains(port, "/") {
		return "", fmt.Errorf("pinch: each of several addresses must be host:port or unix:/path, not %q", address)
	}
	return address, nil
}
