package pool

// What is remembered of one server is bounded for all its sessions together. Where
// there is no more room, the session that has most gives way.

// givesWay is the place of the oldest of those that belong to the session with most
// of them; list is not empty and has the oldest first.
func givesWay[T any](list []T, session func(T) string) (place int) {
	count, most := map[string]int{}, ""
	for _, item := range list {
		s := session(item)
		if count[s]++; count[s] > count[most] {
			most = s
		}
	}
	for session(list[place]) != most {
		place++
	}
	return place
}
