package call

// Modern is what a request of the 2026-07-28 era brings with it in its _meta.
type Modern struct {
	Capabilities []byte // io.modelcontextprotocol/clientCapabilities as sent
	LogLevel     string // io.modelcontextprotocol/logLevel, "" for none
}
