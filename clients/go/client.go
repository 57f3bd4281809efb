package pinch

import (
	"context"
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
)

// Client shortens conversations through a Pinch service, and never stands in the way when it cannot.
//
// It holds one channel; make one for all calls. It is safe for concurrent use.
type Client struct {
	settings   settings
	metadata   []string
	connection *grpc.ClientConn
	service    pinchv1.PruneServiceClient
}

// New makes a client. It does not connect yet, so its error is about the arguments alone.
//
// The address is host:port, unix:/path or any other gRPC target; several of the first two, separated by commas,
// are used in turn, and so are the records of one DNS name.
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
	sent := []string{"pinch-client", "go/" + version}
	if made.token != nil {
		sent = append(sent, "authorization", "Bearer "+*made.token)
	}
	return &Client{
		settings:   made,
		metadata:   sent,
		connection: connection,
		service:    pinchv1.NewPruneServiceClient(connection),
	}, nil
}

// Close closes the connections. Calls in flight fail open, and so does every later one.
func (c *Client) Close() error { return c.connection.Close() }

func dialOptions(made settings) []grpc.DialOption {
	transport := insecure.NewCredentials()
	if made.tls != nil {
		transport = credentials.NewTLS(made.tls)
	}
	reconnecting := backoff.DefaultConfig
	// gRPC's own bound is two minutes: too long to run unpruned after a server has come back.
	reconnecting.MaxDelay = 5 * time.Second
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
func call[Request, Reply any](
	ctx context.Context,
	c *Client,
	timeout time.Duration,
	method func(context.Context, Request, ...grpc.CallOption) (Reply, error),
	request Request,
) (Reply, error) {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, c.metadata...), timeout)
	defer cancel()
	reply, err := method(ctx, request)
	if status.Code(err) == codes.Unavailable && ctx.Err() == nil {
		reply, err = method(ctx, request)
	}
	if err != nil {
		return reply, callError(err)
	}
	return reply, nil
}
