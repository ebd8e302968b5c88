package config

import (
	"fmt"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/setting"
	"github.com/reprise-sim/reprise/trace"
)

// checkRouters refuses policies that look at what this run cannot show them, and
// requests that no bucket takes.
func (s *Simulation) checkRouters() error {
	c := s.config
	missing := routing.Needs(0)
	if s.trace.Header().Depth == trace.Lengths {
		missing |= routing.Content
	}
	if err := s.checkNeeds(missing); err != nil {
		return err
	}
	if _, homebound := routing.NewGlobal(c.Cluster.GlobalRouter).(routing.Homebound); !homebound || c.Cluster.OnUnroutable == unroutableReject {
		return nil
	}
	return s.checkRoutable()
}

// checkNeeds refuses policies that look at what is missing, or at prices if the latency
// model has none.
func (s *Simulation) checkNeeds(missing routing.Needs) error {
	c := s.config
	if _, ok := s.price()(1); !ok {
		missing |= routing.Prices
	}
	var p setting.Problems
	p.Under("cluster.router", c.Cluster.Router.Without(missing))
	p.Under("cluster.global_router", c.Cluster.GlobalRouter.Without(missing))
	return p.Err()
}

// logsRouting is whether decisions are written down.
func (s *Simulation) logsRouting() bool {
	plain := len(s.ranges) == 1 && s.config.Cluster.Router.Mode == "round_robin"
	return s.draft.Load() != nil && s.config.Output.RoutingLog.Is(!plain)
}

// price is what prefilling so many tokens costs.
func (s *Simulation) price() func(tokens int64) (float64, bool) {
	return cluster.Price(s.model, s.config.Engine.MaxNumBatchedTokens)
}

// newService is the bucketed service over idle instances.
func (s *Simulation) newService(ledger *metrics.Ledger) (*cluster.Buckets, error) {
	c := &s.config.Cluster
	setup := cluster.ServiceSetup{
		Router: routing.NewGlobal(c.GlobalRouter), Ledger: ledger, ViewDelayMs: c.GlobalRouter.ViewDelayMs,
		Modes: [2]string{c.GlobalRouter.Mode, c.Router.Mode}, LoadAlpha: c.Router.LoadAlpha,
	}
	if s.logsRouting() {
		setup.Log = s.record.decision
	}
	sizes, _ := s.config.buckets()
	var pools []*cluster.Cluster
	for id, n := range sizes {
		pool, err := s.newPool(int32(id), n, setup, ledger)
		if err != nil {
			return nil, fmt.Errorf("bucket %s: %w", s.ranges[id].Name, err)
		}
		pools = append(pools, pool)
	}
	return cluster.NewBuckets(s.ranges, pools, setup), nil
}

// newPool is the cluster of one bucket.
func (s *Simulation) newPool(bucket int32, size int, service cluster.ServiceSetup, ledger *metrics.Ledger) (*cluster.Cluster, error) {
	c := s.config
	setup := cluster.Setup{
		Placement: routing.New(c.Cluster.Router, uint64(c.Seed)),
		BlockSize: c.Engine.BlockSize, Ledger: ledger, Price: s.price(),
		FrontMs: c.Latency.RequestUs / 1000, Transfers: s.options.Transfers, Blocks: s.options.Blocks,
	}
	cache := &c.Cluster.Cache
	looks := (setup.Placement.Needs() | service.Router.Needs()) & routing.Prefixes
	if cache.Host() || cache.Remote() || looks != 0 || service.Log != nil || s.options.Blocks != nil {
		bytes := 0.0
		if c.Engine.KVCacheBytesPerToken != nil {
			bytes = *c.Engine.KVCacheBytesPerToken
		}
		setup.Tiers = cluster.Tiers(cache, &c.Cluster.MetaStore, c.Engine.BlockSize, bytes)
	}
	instances := make([]*cluster.Instance, size)
	for i := range instances {
		e := cluster.Equipment{
			Rank: engine.New(&c.Engine), BlockSize: c.Engine.BlockSize, Model: s.model, HostMs: c.Latency.HostUs / 1000, Ledger: ledger,
		}
		if w := s.watch(); w != nil {
			e.Passes, e.Singly = w, w.log
		}
		instances[i] = cluster.NewInstance(bucket, int32(i), e)
	}
	return cluster.NewBucket(instances, setup)
}
