package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"postern/pkg/wire"
)

// digestOf is the digest of a declaration (C40): sha256 over the canonical
// JSON of its scope, declaring file, id as written, and every field that a
// repository may write except `enabled`, unexpanded and as far as written.
// Empty lists count as not written. It must be taken before defaults are
// filled in.
func digestOf(s *Server) (string, error) {
	d := map[string]any{"scope": string(s.Scope), "source": s.Source, "id": s.Original, "command": s.Command}
	if len(s.Args) > 0 {
		d["args"] = s.Args
	}
	if len(s.Env) > 0 {
		env := map[string]string{}
		for _, e := range s.Env {
			env[e.Name] = e.Value
		}
		d["env"] = env
	}
	switch s.InheritEnv.Mode {
	case "none":
		d["inherit_env"] = "none"
	case "list":
		d["inherit_env"] = append([]string{}, s.InheritEnv.Names...)
	}
	for name, text := range map[string]string{"env_file": s.EnvFile, "cwd": s.CWD} {
		if text != "" {
			d[name] = text
		}
	}
	if s.Timeout > 0 {
		d["timeout"] = s.Timeout.String()
	}
	if s.StartTimeout > 0 {
		d["start_timeout"] = s.StartTimeout.String()
	}
	if !s.Shared {
		d["shared"] = false
	}
	if len(s.WriteTools) > 0 {
		d["write_tools"] = texts(s.WriteTools)
	}
	if len(s.ExecuteTools) > 0 {
		d["execute_tools"] = texts(s.ExecuteTools)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	canonical, err := wire.Canonical(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func texts(patterns []Pattern) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = p.Text
	}
	return out
}
