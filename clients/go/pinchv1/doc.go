// Package pinchv1 is the API of the Pinch service, generated from its protocol buffers. Programs use its messages
// through package [github.com/pinch-grpc/pinch/clients/go].
package pinchv1
