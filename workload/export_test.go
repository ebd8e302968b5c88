package workload

// Held is what the driver remembers: queued calls and rows up to the newest.
func (d *Driver) Held() (queued, rows int) {
	return len(d.queue), int(d.rows.next - d.rows.first)
}

// Window is the room for rows in flight.
func (d *Driver) Window() int { return len(d.rows.ring) }
