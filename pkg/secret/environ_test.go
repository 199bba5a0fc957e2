package secret

import (
	"slices"
	"strings"
	"testing"
)

// C32, MB-178.
func TestInherited(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/h", "LANG=C", "LC_ALL=C", "XDG_RUNTIME_DIR=/r", "HTTPS_PROXY=p", "no_proxy=n", "Http_Proxy=q", "SSL_CERT_FILE=f",
		"AWS_SECRET_ACCESS_KEY=s", "MY_TOKEN=t", "LD_PRELOAD=x", "POSTERN_TOKEN=p", "postern_x=p", "GODEBUG=g", "MCPGODEBUG=g", "TERM=xterm", "broken", "=x", "HOME=/h2"}
	safe := []string{"PATH=/bin", "HOME=/h2", "LANG=C", "LC_ALL=C", "XDG_RUNTIME_DIR=/r", "HTTPS_PROXY=p", "no_proxy=n", "Http_Proxy=q", "SSL_CERT_FILE=f", "TERM=xterm"}
	for name, tt := range map[string]struct {
		inherit Inherit
		want    []string
	}{
		"zero":  {Inherit{}, safe},
		"safe":  {Inherit{Mode: "safe", Names: []string{"MY_TOKEN"}}, safe},
		"none":  {Inherit{Mode: "none"}, nil},
		"list":  {Inherit{Mode: "list", Names: []string{"MY_TOKEN", "POSTERN_TOKEN", "GODEBUG", "HOME"}}, []string{"HOME=/h2", "MY_TOKEN=t"}},
		"empty": {Inherit{Mode: "list"}, nil},
	} {
		slices.Sort(tt.want)
		got := Inherited(environ, tt.inherit)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestReducedEnvironment(t *testing.T) {
	got := ReducedEnvironment([]string{"HOME=/h", "USER=u", "LOGNAME=u", "PATH=/b", "LANG=C", "LC_TIME=C", "TZ=UTC", "XDG_CONFIG_HOME=/c", "TOKEN=x", "SHELL=/bin/sh", "HTTPS_PROXY=p", "TMPDIR=/t"})
	if strings.Join(got, " ") != "HOME=/h USER=u LOGNAME=u PATH=/b LANG=C LC_TIME=C TZ=UTC XDG_CONFIG_HOME=/c" {
		t.Errorf("%q", got)
	}
}

// C33.
func TestChangesCode(t *testing.T) {
	for _, name := range strings.Fields(`LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES PATH HOME NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONHOME PYTHONSTARTUP
		PYTHONUSERBASE PERL5OPT PERL5LIB RUBYOPT RUBYLIB BASH_ENV ENV IFS GIT_SSH_COMMAND JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH
		DOTNET_STARTUP_HOOKS LUA_PATH GCONV_PATH npm_config_registry NPM_CONFIG_REGISTRY UV_INDEX_URL PIP_INDEX_URL DOCKER_HOST KUBECONFIG HTTPS_PROXY no_proxy
		SSL_CERT_FILE NODE_EXTRA_CA_CERTS EDITOR PAGER BROWSER TMPDIR XDG_CONFIG_HOME`) {
		if !ChangesCode(name) {
			t.Errorf("%s is let through", name)
		}
	}
	for _, name := range []string{"TOKEN", "LANG", "PATHS", "GITHUB_TOKEN", "HOMEPAGE", "NODE_ENV", "PROXY", "ALD_X"} {
		if ChangesCode(name) {
			t.Errorf("%s is asked about", name)
		}
	}
}

// C32: of a child that serves one agent.
func TestWithLocale(t *testing.T) {
	hub := []string{"HOME=/h", "LANG=C", "LC_ALL=C", "TERM=dumb", "POSTERN_TOKEN=x", "TZ=UTC", "broken"}
	agent := []string{"HOME=/a", "PATH=/evil", "LANG=de", "TERM=vt100", "TERM=xterm", "LC_TIME=fr", "LD_PRELOAD=x", "LANGUAGE=de", "=x"}
	got := WithLocale(hub, agent)
	if strings.Join(got, " ") != "HOME=/h LANG=de TERM=xterm LC_TIME=fr" {
		t.Errorf("%q", got)
	}
	if got := WithLocale(hub, nil); strings.Join(got, " ") != "HOME=/h" {
		t.Errorf("of an agent without any: %q", got)
	}
	if got := WithLocale(nil, agent[:2]); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}
