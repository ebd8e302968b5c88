package simulate

// SetBatch sets how many calls are placed ahead of time at once.
func (l *Loop) SetBatch(n int) { l.batch = n }
