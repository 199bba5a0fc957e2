package call

import "postern/pkg/trust"

// Unready says what keeps a server from being started as things are, as far as
// that can be known without running anything, and without what is secret; ""
// when nothing is known. See trust.Ready.
func (v *View) Unready(s *Server) string {
	err := trust.Ready(s.Declared, v.environ, v.Config.Project, v.Config.Secrets)
	if err == nil {
		return ""
	}
	return v.environ.Redactor.Text(err.Error())
}
