package pinch

import (
	"errors"
	"fmt"
	"net/netip"
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
		return listed[0], nil, reachable(listed[0])
	}
	var state resolver.State
	var families [2]bool
	for _, address := range listed {
		literal, err := netip.ParseAddrPort(address)
		if err != nil {
			return "", nil, fmt.Errorf("pinch: each of several addresses must be IP:port, not %q", address)
		}
		families[literal.Addr().BitLen()/128] = true
		// Its certificate is for this address, unless the TLS settings name another.
		endpoint := resolver.Endpoint{Addresses: []resolver.Address{{Addr: address, ServerName: address}}}
		state.Endpoints = append(state.Endpoints, endpoint)
	}
	if families[0] && families[1] {
		return "", nil, fmt.Errorf("pinch: several addresses must all be IPv4 or all IPv6, not %s", addresses)
	}
	builder := manual.NewBuilderWithScheme(several)
	builder.InitialState(state)
	return several + ":///", builder, nil
}

// reachable refuses what gRPC would take for a name to look up, or for port 443, and never reach.
func reachable(address string) error {
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		return fmt.Errorf("pinch: the address %q is a URL: give host:port, and WithTLS for TLS", address)
	}
	if !strings.Contains(address, ":") || strings.HasSuffix(address, "]") {
		return fmt.Errorf("pinch: the address %q has no port: give host:port", address)
	}
	return nil
}
