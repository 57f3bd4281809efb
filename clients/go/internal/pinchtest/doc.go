// Package pinchtest has what the client is tested against: the real server, a server that does whatever a test
// tells it to, the project's vectors, and certificates.
package pinchtest
