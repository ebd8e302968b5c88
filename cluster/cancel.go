package cluster

import "github.com/reprise-sim/reprise/metrics"

// Cancel implements [Service].
func (c *Cluster) Cancel(row int32, status metrics.Status, reason string, nowMs float64) error {
	if e, ok := c.kept[row]; ok {
		delete(c.kept, row)
		c.placement.Cancel(row)
		c.instances[0].ledger.Row(e.Row).End(status, reason, nowMs, nil, nil, false)
		return nil
	}
	if target, ok := c.onWay.remove(row); ok {
		c.instances[target].end(row, status, reason, nowMs)
		c.touch(int(target))
		return nil
	}
	i := int(c.instances[0].ledger.Row(row).Instance)
	if err := c.instances[i].AdvanceTo(nowMs); err != nil {
		return err
	}
	c.instances[i].Cancel(row, status, reason, nowMs)
	c.touch(i)
	return nil
}

// Cancel implements [Service].
func (b *Buckets) Cancel(row int32, status metrics.Status, reason string, nowMs float64) error {
	return b.buckets[b.ledger.Row(row).Bucket].Cancel(row, status, reason, nowMs)
}
