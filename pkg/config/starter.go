package config

import _ "embed"

//go:embed starter.yaml
var starter string

// StarterFile is the mcp.yaml that is written where there is none (C14). It
// declares no server and says, where the operator can read it, what an agent
// without an identity may do.
func StarterFile() []byte { return []byte(starter) }
