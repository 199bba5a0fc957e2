package hub

import "syscall"

// KeeperOptions says what is run below the keeper.
type KeeperOptions struct {
	Args     []string // with the command's name
	Environ  []string
	Terminal bool // standard input, output or error is one: no session of its own
}

// End is how the command ended.
type End struct {
	Status int            // its exit code
	Signal syscall.Signal // what ended it instead; 0 when it exited
	Left   int            // processes below that are alive in spite of SIGKILL
}

// Leash is what ties this process to its keeper.
type Leash struct {
	// Parent is the pid of the keeper's parent: of whoever started the command.
	Parent int
	// Ends gets a value for each signal to end that the keeper was sent, and one
	// when the keeper is gone.
	Ends <-chan struct{}
}
