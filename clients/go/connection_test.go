package pinch_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
)

// Settings that cannot work are refused when the client is made; the error names the setting, never the token.
func TestUnusableSettingsAreRefused(t *testing.T) {
	for name, made := range map[string]struct {
		address string
		option  pinch.Option
		named   string
	}{
		"no address":           {"", pinch.WithStrict(), "address"},
		"a blank address":      {"127.0.0.1:1, ", pinch.WithStrict(), "address"},
		"no port":              {"127.0.0.1:1,127.0.0.1", pinch.WithStrict(), "address"},
		"a name in a list":     {"127.0.0.1:1,localhost:1", pinch.WithStrict(), "address"},
		"a socket in a list":   {"127.0.0.1:1,unix:/s", pinch.WithStrict(), "address"},
		"both families":        {"127.0.0.1:1,[::1]:1", pinch.WithStrict(), "address"},
		"no port at all":       {"localhost", pinch.WithStrict(), "host:port"},
		"IPv6 without a port":  {"[::1]", pinch.WithStrict(), "host:port"},
		"a URL":                {"http://127.0.0.1:50051", pinch.WithStrict(), "host:port"},
		"metadata of HTTP/1":   {"127.0.0.1:1", pinch.WithMetadata("connection", "close"), "metadata"},
		"our own metadata":     {"127.0.0.1:1", pinch.WithMetadata("pinch-client", "x"), "metadata"},
		"a second token":       {"127.0.0.1:1", pinch.WithMetadata("authorization", "s3cret"), "metadata"},
		"gRPC's own metadata":  {"127.0.0.1:1", pinch.WithMetadata("grpc-timeout", "1S"), "metadata"},
		"metadata in capitals": {"127.0.0.1:1", pinch.WithMetadata("X-Team", "x"), "metadata"},
		"metadata of lines":    {"127.0.0.1:1", pinch.WithMetadata("x-team", "s3cret\n"), "metadata"},
		"a scheme in a list":   {"127.0.0.1:1,dns:///pinch:1", pinch.WithStrict(), "address"},
		"no time":              {"127.0.0.1:1", pinch.WithTimeout(0), "timeout"},
		"less than no time":    {"127.0.0.1:1", pinch.WithTimeout(-1), "timeout"},
		"an empty token":       {"127.0.0.1:1", pinch.WithToken(""), "token"},
		"a token of lines":     {"127.0.0.1:1", pinch.WithToken("s3cret\n"), "token"},
		"a token of non-text":  {"127.0.0.1:1", pinch.WithToken("s3crét"), "token"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := pinch.New(made.address, made.option)
			if client != nil || err == nil || !strings.Contains(err.Error(), made.named) {
				t.Fatalf("%v", err)
			}
			if strings.Contains(err.Error(), "s3cr") {
				t.Errorf("the token is quoted: %v", err)
			}
		})
	}
}

// Several addresses get calls in turn, and when one is gone the others answer.
func TestC5SeveralAddressesAreUsedInTurn(t *testing.T) {
	one, two := pinchtest.Script(t, pinchtest.Unchanged), pinchtest.Script(t, pinchtest.Unchanged)
	client := connect(t, one.Address+", "+two.Address)
	for len(one.Calls()) < 5 || len(two.Calls()) < 5 {
		if result, _ := prune(t, client); result.Err != nil {
			t.Fatal(result.Err)
		}
	}
	one.Stop()
	for range 10 {
		if result, _ := prune(t, client); result.Err != nil {
			t.Fatal(result.Err)
		}
	}
}

// A server that comes back at its address is found again by the same client.
func TestC5ConnectionComesBack(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	first := pinchtest.ScriptOn(t, "unix", socket, nil, pinchtest.Unchanged)
	client := connect(t, first.Address)
	if result, _ := prune(t, client); result.Err != nil {
		t.Fatal(result.Err)
	}
	first.Stop()
	failsOpen(t, client)
	pinchtest.ScriptOn(t, "unix", socket, nil, pinchtest.Unchanged)
	deadline, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	for {
		result, _ := client.PruneOpenAI(deadline, []byte(sent))
		if result.Err == nil {
			return
		}
		if deadline.Err() != nil {
			t.Fatal(result.Err)
		}
	}
}

// A unix socket is an address like any other; its path may have blanks.
func TestC7UnixSocket(t *testing.T) {
	server := pinchtest.ScriptOn(t, "unix", filepath.Join(t.TempDir(), "a socket"), nil, pinchtest.Trim(before, after))
	if result, _ := prune(t, connect(t, server.Address)); !result.Pruned {
		t.Error(result.Err)
	}
}

// An IPv6 address in brackets is an address, too.
func TestC5IPv6(t *testing.T) {
	server := pinchtest.ScriptOn(t, "tcp", "[::1]:0", nil, pinchtest.Trim(before, after))
	if result, _ := prune(t, connect(t, server.Address)); !result.Pruned {
		t.Error(result.Err)
	}
}

// Closing twice is harmless.
func TestC5ClosingTwice(t *testing.T) {
	client := connect(t, "127.0.0.1:1")
	for range 2 {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

// However a client is printed, neither token nor key is.
func TestC7SecretsAreNotPrinted(t *testing.T) {
	client := connect(t, "127.0.0.1:1", pinch.WithToken("s3cret"), pinch.WithTLS(nil))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if printed := fmt.Sprintf(verb, client); printed != "pinch.Client(127.0.0.1:1)" {
			t.Errorf("%s: %s", verb, printed)
		}
	}
}

// The token travels with every call.
func TestC7Token(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	_, _ = prune(t, connect(t, server.Address, pinch.WithToken("s3cret")))
	if sent := server.Calls()[0].Metadata.Get("authorization"); len(sent) != 1 || sent[0] != "Bearer s3cret" {
		t.Errorf("%q", sent)
	}
}

// With TLS the right authority is believed, and a certificate of another one, or for another host, is not.
func TestC7WrongCertificateFailsOpen(t *testing.T) {
	ours, theirs := pinchtest.NewAuthority(t), pinchtest.NewAuthority(t)
	serve := func(certificate tls.Certificate) string {
		config := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{certificate}})
		options := []grpc.ServerOption{grpc.Creds(config)}
		return pinchtest.ScriptOn(t, "tcp", "127.0.0.1:0", options, pinchtest.Trim(before, after)).Address
	}
	right, named := serve(ours.Issue(t, "127.0.0.1")), serve(ours.Issue(t, "pinch.internal"))
	forged := serve(theirs.Issue(t, "127.0.0.1"))
	trusting := func(name string) pinch.Option {
		return pinch.WithTLS(&tls.Config{RootCAs: ours.Pool, ServerName: name})
	}
	for addresses, option := range map[string]pinch.Option{
		right: trusting(""), named: trusting("pinch.internal"), right + "," + right: trusting(""),
	} {
		if result, _ := prune(t, connect(t, addresses, option)); !result.Pruned {
			t.Errorf("%s: %v", addresses, result.Err)
		}
	}
	for addresses, option := range map[string]pinch.Option{
		right: pinch.WithTLS(nil), named: trusting(""), forged: trusting(""), forged + "," + named: trusting(""),
	} {
		err := failsOpen(t, connect(t, addresses, option))
		expectCode(t, err, codes.Unavailable)
	}
	plain := pinchtest.Script(t, pinchtest.Unchanged)
	expectCode(t, failsOpen(t, connect(t, plain.Address, trusting(""))), codes.Unavailable)
}

// Mutual TLS shows the client's certificate; without one the server ends the connection.
func TestC7MutualTLS(t *testing.T) {
	authority := pinchtest.NewAuthority(t)
	server := pinchtest.ScriptOn(t, "tcp", "127.0.0.1:0", []grpc.ServerOption{grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{authority.Issue(t, "127.0.0.1")},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    authority.Pool,
	}))}, pinchtest.Trim(before, after))
	config := &tls.Config{RootCAs: authority.Pool}
	failsOpen(t, connect(t, server.Address, pinch.WithTLS(config)))
	config.Certificates = []tls.Certificate{authority.Issue(t, "router")}
	client := connect(t, server.Address, pinch.WithTLS(config))
	config.Certificates = nil // the client holds a copy
	if result, _ := prune(t, client); !result.Pruned {
		t.Error(result.Err)
	}
}
