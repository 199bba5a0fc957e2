package wire

// SplitBatch returns the elements of a JSON array, each to be parsed by itself
// and sharing memory with line (R5). An array that is empty or has more than max
// elements, and a line that is no array, is a *ParseError.
func SplitBatch(line []byte, max int) ([][]byte, error) {
	var elements [][]byte
	err := EachElement(line, func(v Span) bool {
		elements = append(elements, v.Of(line))
		return len(elements) <= max
	})
	switch {
	case err != nil:
		return nil, &ParseError{Code: CodeParse, Reason: err.Error(), Noise: true}
	case len(elements) == 0:
		return nil, &ParseError{Code: CodeInvalidRequest, Reason: "an empty batch", Batch: true}
	case len(elements) > max:
		return nil, &ParseError{Code: CodeInvalidRequest, Reason: "a batch of more than " + itoa(max), Batch: true}
	}
	return elements, nil
}
