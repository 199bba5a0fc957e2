package trust

import (
	"strings"
	"testing"

	"postern/pkg/config"
)

func TestUnpinned(t *testing.T) {
	for _, c := range []struct{ command, pinned string }{ // pinned "" = is pinned, or no runner
		{"npx -y @scope/server", "npx -y @scope/server@VERSION"},
		{"npx -y server@latest dir", "npx -y server@VERSION dir"},
		{"npx server@^1.2.0", "npx server@VERSION"},
		{"npx server@1", "npx server@VERSION"},
		{"npx -y @scope/server@1.2.3 dir", ""},
		{"npx -y server@1.2.3-beta.1", ""},
		{"npx --package=server -c run", "npx --package=server@VERSION -c run"},
		{"npx -p server@2.0.0 run", ""},
		{"npx -y github:a/b", "npx -y github:a/b@VERSION"},
		{"npx -y github:a/b#0123456789012345678901234567890123456789", ""},
		{"npx ./local", ""},
		{"/usr/bin/npx server", "/usr/bin/npx server@VERSION"},
		{"npx.cmd server", "npx.cmd server@VERSION"},
		{"npx -y -- server", "npx -y -- server@VERSION"},
		{"npm exec server", "npm exec server@VERSION"},
		{"npm exec --yes -- server@1.0.0", ""},
		{"npm start", ""},
		{"pnpm dlx server", "pnpm dlx server@VERSION"},
		{"bunx server", "bunx server@VERSION"},
		{"bun x server@0.1.0", ""},
		{"uvx mcp-server-git", "uvx mcp-server-git==VERSION"},
		{"uvx mcp-server-git@latest", "uvx mcp-server-git==VERSION"},
		{"uvx mcp-server-git==2025.1.14 --repository .", ""},
		{"uvx mcp-server-git@0.6.2", ""},
		{"uvx --python 3.12 server", "uvx --python 3.12 server==VERSION"},
		{"uvx --from pkg==1.0 tool", ""},
		{"uvx --from pkg tool", "uvx --from pkg==VERSION tool"},
		{"uv tool run server", "uv tool run server==VERSION"},
		{"uv run server.py", ""},
		{"pipx run server", "pipx run server==VERSION"},
		{"docker run -i --rm mcp/git", "docker run -i --rm mcp/git@sha256:DIGEST"},
		{"docker run -i --rm -e TOKEN mcp/git:latest", "docker run -i --rm -e TOKEN mcp/git@sha256:DIGEST"},
		{"docker run -it --mount type=bind,src=/a,dst=/b ghcr.io/a/b:1.2 serve", ""},
		{"docker run localhost:5000/a", "docker run localhost:5000/a@sha256:DIGEST"},
		{"docker run --rm a@sha256:0123", "docker run --rm a@sha256:DIGEST"},
		{"docker run --rm a@sha256:" + strings.Repeat("0", 64), ""},
		{"docker exec -i box server", ""},
		{"go run .", ""},
		{"go run example.com/a@latest", "go run example.com/a@VERSION"},
		{"go run example.com/a@v1.2.3", ""},
		{"deno run -A npm:server", "deno run -A npm:server@VERSION"},
		{"deno run server.ts", ""},
		{"node server.js", ""},
		{"npx", ""},
	} {
		words := strings.Fields(c.command)
		pinned, unpinned := Unpinned(&config.Server{Command: words[0], Args: words[1:]})
		if pinned != c.pinned || unpinned != (c.pinned != "") {
			t.Errorf("%s: %q, %v; want %q", c.command, pinned, unpinned, c.pinned)
		}
	}
}
