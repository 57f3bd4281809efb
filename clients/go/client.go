package pinch

import (
	"context"
	"fmt"
	"time"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Client shortens conversations through a Pinch service, and never stands in the way when it cannot.
//
// It holds one channel; make one for all calls. It is safe for concurrent use.
type Client struct {
	settings   settings
	own        metadata.MD
	target     string
	connection *grpc.ClientConn
	service    pinchv1.PruneServiceClient
}

// New makes a client. It does not connect yet, so its error is about the arguments alone.
//
// The address is host:port, unix:/path, any other gRPC target, or several of the form IP:port, separated by
// commas, which are used in turn; so are the records of one DNS name.
func New(address string, options ...Option) (*Client, error) {
	made, err := settingsOf(options)
	if err != nil {
		return nil, err
	}
	target, builder, err := targetOf(address)
	if err != nil {
		return nil, err
	}
	dialling := dialOptions(made)
	if builder != nil {
		dialling = append(dialling, grpc.WithResolvers(builder))
	}
	connection, err := grpc.NewClient(target, dialling...)
	if err != nil {
		return nil, err
	}
	sent := append([]string{"pinch-client", "go/" + version}, made.metadata...)
	if made.token != nil {
		sent = append(sent, "authorization", "Bearer "+*made.token)
	}
	return &Client{
		settings:   made,
		own:        metadata.Pairs(sent...),
		target:     address,
		connection: connection,
		service:    pinchv1.NewPruneServiceClient(connection),
	}, nil
}

// Close closes the connections. Calls in flight fail open, and so does every later one. Closing again does
// nothing.
func (c *Client) Close() error {
	if err := c.connection.Close(); status.Code(err) != codes.Canceled { // so gRPC says that it is closed
		return err
	}
	return nil
}

// Format prints the client's address alone, whatever the verb: neither token nor keys are for a log.
func (c *Client) Format(state fmt.State, _ rune) { fmt.Fprintf(state, "pinch.Client(%s)", c.target) }

func dialOptions(made settings) []grpc.DialOption {
	transport := insecure.NewCredentials()
	if made.tls != nil {
		transport = credentials.NewTLS(made.tls)
	}
	reconnecting := backoff.DefaultConfig
	// gRPC's own bound is two minutes: too long to run unpruned after a server has come back.
	reconnecting.MaxDelay = 5 * time.Second
	// And its first pause is a second, which a restart would cost each of its callers.
	reconnecting.BaseDelay = 100 * time.Millisecond
	return []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent("pinch-go/" + version),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(MessageLimit), grpc.MaxCallSendMsgSize(MessageLimit),
		),
		// A peer that vanished is found out between calls, not by the next call's deadline.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: 30 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnecting, MinConnectTimeout: 5 * time.Second}),
		// Also for one address, which may be a name with several records.
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`),
		// What a name server says must change neither deadlines nor retries.
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
	}
}

// call makes one call and, after UNAVAILABLE, a second one inside the same deadline (C2, C3). By any other
// status the server says that trying again is of no use.
func call[Request proto.Message, Reply any](
	ctx context.Context,
	c *Client,
	timeout time.Duration,
	method func(context.Context, Request, ...grpc.CallOption) (Reply, error),
	request Request,
) (Reply, error) {
	ctx, cancel := context.WithTimeout(c.withMetadata(ctx), timeout)
	defer cancel()
	reply, err := method(ctx, request)
	if status.Code(err) == codes.Unavailable && ctx.Err() == nil {
		reply, err = method(ctx, request)
	}
	if err == nil {
		return reply, nil
	}
	if status.Code(err) == codes.Internal {
		// So gRPC also calls what it could not encode, such as a text that is not UTF-8.
		if _, unsendable := proto.Marshal(request); unsendable != nil {
			return reply, &RequestError{problem: oneLine(unsendable.Error())}
		}
	}
	return reply, callError(err)
}

// withMetadata adds the client's own to the metadata of the context, which may have been made for another service:
// its token is not sent beside ours.
func (c *Client) withMetadata(ctx context.Context) context.Context {
	sent, _ := metadata.FromOutgoingContext(ctx) // a copy
	if sent == nil {
		sent = metadata.MD{}
	}
	for _, name := range []string{"pinch-client", "authorization"} {
		if len(c.own.Get(name)) > 0 {
			sent.Delete(name)
		}
	}
	return metadata.NewOutgoingContext(ctx, metadata.Join(sent, c.own))
}
