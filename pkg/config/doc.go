// Package config owns what was declared: it reads the user's mcp.yaml and a
// project's .postern/mcp.yaml and .mcp.json, checks them, and hands out typed
// values with every doubt named as a Diagnostic. It starts nothing, resolves
// no name and expands no value.
//
// What one run reads is one Config, made by Load and never changed. Files are
// read at most once each, bounded by the limits of limits.go.
package config
