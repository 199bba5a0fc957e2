package call

import (
	"fmt"
	"testing"

	"postern/pkg/config"
)

// R24, R72: however many questions one server has, there is room for those of others.
func TestQuestionsLeaveRoomForOthers(t *testing.T) {
	var p places
	fill := func(server string) (n int) {
		for p.take(server, 1) {
			n++
		}
		return n
	}
	for n, server := range []string{"a", "b", "c"} {
		if got, want := fill(server), config.MaxQuestions>>(n+1); got != want {
			t.Errorf("%s has %d, want %d", server, got, want)
		}
	}
	p.give("a", 1)
	if p.take("a", 1) {
		t.Error("what it gave back is not for others first")
	}
	if !p.take("d", 1) {
		t.Error("another one has no room")
	}
}

// Questions are bounded in bytes, too: one alone may be as long as it likes, and
// short ones of other servers are put beside it.
func TestOpenQuestionsAreBoundedInBytes(t *testing.T) {
	var p places
	if !p.take("a", config.QuestionBytes+1) {
		t.Error("one long question is declined")
	}
	if p.take("a", 1) || p.take("b", shortQuestion+1) {
		t.Error("a second one beside it is not")
	}
	for n := range config.MaxQuestions - 1 {
		if !p.take(fmt.Sprint("s", n), shortQuestion) {
			t.Fatalf("there is no room for %d other servers", n+1)
		}
	}
	if p.take("b", 0) {
		t.Error("there are too many")
	}
	for n := range config.MaxQuestions - 1 {
		p.give(fmt.Sprint("s", n), shortQuestion)
	}
	p.give("a", config.QuestionBytes+1)

	const half = config.QuestionBytes / 2
	if !p.take("a", half) || p.take("a", 1) || !p.take("b", half) || p.take("c", shortQuestion+1) {
		t.Error("one server has more than it leaves, or others less")
	}
	p.give("a", half)
	if !p.take("c", half) {
		t.Error("there is no room again")
	}
	p.give("b", half)
	p.give("c", half)
	if p.all != (share{}) || len(p.of) != 0 {
		t.Errorf("something is left: %+v", &p)
	}
}
