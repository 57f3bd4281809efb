// Package gateway declares what the example names of llm-d's package of this name, and nothing else of it.
package gateway

// Client is what steps reach pods with.
type Client struct{}
