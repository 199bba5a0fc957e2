//go:build !unix

package cmdtest

// HubName and Hub are where there is no hub.
const HubName = "hub"

// Hub does nothing here.
func Hub() {}
