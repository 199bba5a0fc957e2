//go:build !linux

package state

// accountHome is not known here: accounts are in no file.
func accountHome() string { return "" }
