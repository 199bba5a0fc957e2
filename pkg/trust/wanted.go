package trust

import (
	"slices"

	"postern/pkg/config"
)

// Wanted lists the variables that a server could use of an agent's (C30), in
// order: those it refers to or inherits by name, may have from there by agent_env
// or, for a project's server, by the record that trusts it, and does not get from
// hub, the hub's own environment. Whoever asks an agent for its values asks for no
// others. Of a server that may not start it wants none.
func (r *Records) Wanted(srv *config.Server, hub []string) []string {
	status, rec := r.Status(srv)
	if !srv.Enabled || status != Trusted {
		return nil
	}
	allowed := srv.AgentEnv
	if rec != nil {
		allowed = rec.Env
	}
	has := variables(hub)
	return slices.DeleteFunc(referenced(srv), func(name string) bool {
		_, own := has(name)
		return own || !slices.Contains(allowed, name)
	})
}
