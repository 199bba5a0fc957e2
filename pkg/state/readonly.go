package state

// IsReadOnly reports whether err means that this place takes no writes now: a
// read-only or full file system, an exhausted quota, or missing permission. A
// gateway goes on without log and cache then, and says so once (C6).
func IsReadOnly(err error) bool { return err != nil && readOnly(err) }
