package call

import (
	"fmt"
	"testing"

	"postern/pkg/config"
)

// R24, R61: one server with very many links and tasks does not make those of others
// forgotten.
func TestServersLeaveRoomForOthers(t *testing.T) {
	var l links
	var k tasks
	var a agentTasks
	l.add("few", "few:1")
	k.add("few-1", task{server: "few"})
	a.add("few", "few-1")
	for n := range 2 * config.LinkMemory {
		l.add("many", fmt.Sprint("many:", n))
		k.add(fmt.Sprint("many-", n), task{server: "many"})
		a.add("many", fmt.Sprint("many-", n))
	}
	if _, ok := k.get("few-1"); !l.has("few", "few:1") || l.first("few:1") != "few" || !ok || !a.of("few", "few-1") {
		t.Errorf("forgotten: %v %v %v", l.has("few", "few:1"), ok, a.of("few", "few-1"))
	}
	last, first := fmt.Sprint(2*config.LinkMemory-1), "0"
	if _, ok := k.get("many-" + last); !l.has("many", "many:"+last) || !ok || !a.of("many", "many-"+last) {
		t.Error("the newest is not remembered")
	}
	if _, ok := k.get("many-" + first); l.has("many", "many:"+first) || l.first("many:"+first) != "" || ok || a.of("many", "many-"+first) {
		t.Error("the oldest is")
	}
	if len(l.seen) != config.LinkMemory || len(l.oldest) != config.LinkMemory || len(l.owner) != config.LinkMemory ||
		len(k.known) != config.LinkMemory || len(k.oldest) != config.LinkMemory || len(a.owner) != config.LinkMemory || len(a.oldest) != config.LinkMemory {
		t.Error("the bounds are others")
	}
}
