package call

// What a session remembers of its servers is bounded for all of them together. Where
// there is no more room, the server with most gives way.

// givesWay is the place of the oldest of those that are of the server with most of
// them; list is not empty and has the oldest first.
func givesWay[T any](list []T, server func(T) string) (place int) {
	count, most := map[string]int{}, ""
	for _, item := range list {
		s := server(item)
		if count[s]++; count[s] > count[most] {
			most = s
		}
	}
	for server(list[place]) != most {
		place++
	}
	return place
}
