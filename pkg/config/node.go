package config

// kind is what a value in a file is, in the words shown to people.
type kind string

const (
	kindNull    kind = "nothing"
	kindBool    kind = "true or false"
	kindNumber  kind = "a number"
	kindString  kind = "a string"
	kindList    kind = "a list"
	kindMapping kind = "a mapping"
	// kindBad is a value that the form of the file allows and we do not (an
	// alias, a tag, …); text says why. It spoils only what it stands in.
	kindBad kind = "refused"
)

// node is one value of a file, of either form, with its position.
type node struct {
	kind    kind
	text    string // a string's value; a number or bool as written; of kindBad the reason
	items   []*node
	members []member
	pos     pos
}

// member is one entry of a mapping, in file order, duplicates included.
type member struct {
	name  string
	pos   pos
	value *node
}

// pos counts lines and columns from 1, columns in characters.
type pos struct{ line, column int }

// get returns the value of the first member with this name, nil without one.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// parseError ends the reading of a file whose form is broken.
type parseError struct {
	pos     pos
	problem string
}

func (e *parseError) Error() string { return e.problem }
